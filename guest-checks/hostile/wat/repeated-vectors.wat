;; 1,024 vectors on the same 64 KiB, to a file: one call moves at most its bound.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 1024) "f")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    (local $at i32)
    (loop $fill
      (i32.store (i32.add (local.get $at) (i32.const 65536)) (i32.const 0))
      (i32.store offset=4 (i32.add (local.get $at) (i32.const 65536)) (i32.const 65536))
      (br_if $fill (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (i32.const 8192))))
    ;; a file
    (call $want (i32.const 100) (i32.const 0)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 1)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; a gather into it
    (call $want (i32.const 101) (i32.const 0)
      (call $fd_write (i32.load (i32.const 2048)) (i32.const 65536) (i32.const 1024)
        (i32.const 2052)))
    (if (i32.gt_u (i32.load (i32.const 2052)) (i32.const 16777216)) (then (call $proc_exit (i32.const 1))))
    ;; and more
    (call $want (i32.const 102) (i32.const 51)
      (call $fd_write (i32.load (i32.const 2048)) (i32.const 65536) (i32.const 1024)
        (i32.const 2052)))
    (call $proc_exit (i32.const 7))))
