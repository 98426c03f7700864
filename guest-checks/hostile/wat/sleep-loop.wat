;; A sleep of a nanosecond, for ever.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 2048) "\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (func (export "_start")
    (loop $again
      (drop (call $poll_oneoff (i32.const 2048) (i32.const 4096) (i32.const 1) (i32.const 8)))
      (br $again))))
