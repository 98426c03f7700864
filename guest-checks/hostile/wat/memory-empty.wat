;; A memory of no pages.
(module
  (import "wasi_snapshot_preview1" "random_get"
    (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (memory (export "memory") 0)
  (func (export "_start")
    (if (i32.ne (call $random_get (i32.const 0) (i32.const 1)) (i32.const 21)) (then unreachable))
    (if (call $random_get (i32.const 0) (i32.const 0)) (then unreachable))
    (if (i32.ne (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 0))
          (i32.const 21)) (then unreachable))
    (call $proc_exit (i32.const 7))))
