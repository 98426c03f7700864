;; 1,024 vectors of no bytes, for ever.
(module
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (loop $again
      (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1024) (i32.const 65528)))
      (br $again))))
