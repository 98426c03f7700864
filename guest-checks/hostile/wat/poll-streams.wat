;; 4,096 streams in one call, for ever.
(module
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 8)
  (func (export "_start")
    (local $at i32)
    (loop $fill
      (i32.store8 offset=8 (local.get $at) (i32.const 2))
      (i32.store offset=16 (local.get $at) (i32.const 1))
      (br_if $fill (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 48)))
        (i32.const 196608))))
    (loop $again
      (drop (call $poll_oneoff (i32.const 0) (i32.const 262144) (i32.const 4096) (i32.const 524280)))
      (br $again))))
