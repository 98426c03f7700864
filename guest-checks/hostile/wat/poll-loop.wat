;; 4,096 clocks in one call, for ever.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 8)
  (func (export "_start")
    (loop $again
      (drop (call $poll_oneoff (i32.const 0) (i32.const 262144) (i32.const 4096) (i32.const 524280)))
      (br $again))))
