;; 1,024 vectors of 16 KiB each to both streams, for ever.
(module
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (local $at i32)
    (loop $fill
      (i32.store offset=4 (local.get $at) (i32.const 16384))
      (br_if $fill (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (i32.const 8192))))
    (loop $again
      (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1024) (i32.const 65528)))
      (drop (call $fd_write (i32.const 2) (i32.const 0) (i32.const 1024) (i32.const 65528)))
      (br $again))))
