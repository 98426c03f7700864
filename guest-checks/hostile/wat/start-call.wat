;; A start function that calls the host before the instance exists for it.
(module
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get"
    (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\40\00\00\00\05\00\00\00")
  (data (i32.const 64) "early")
  (func $early
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    (drop (call $random_get (i32.const 0) (i32.const 65536))))
  (start $early)
  (func (export "_start") (call $proc_exit (i32.const 7))))
