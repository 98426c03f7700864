;; Flags, modes and kinds that do not exist.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_set_flags"
    (func $fd_fdstat_set_flags (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_advise"
    (func $fd_advise (param i32 i64 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get"
    (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_seek"
    (func $fd_seek (param i32 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_set_times"
    (func $path_filestat_set_times (param i32 i32 i32 i32 i64 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read"
    (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "f")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; flags of a descriptor
    (call $want (i32.const 100) (i32.const 28)
      (call $fd_fdstat_set_flags (i32.const 1) (i32.const 32)))
    ;; more of them
    (call $want (i32.const 101) (i32.const 28)
      (call $fd_fdstat_set_flags (i32.const 1) (i32.const -1)))
    ;; advice
    (call $want (i32.const 102) (i32.const 28)
      (call $fd_advise (i32.const 3) (i64.const 0) (i64.const 0) (i32.const 6)))
    ;; an unknown clock
    (call $want (i32.const 103) (i32.const 28)
      (call $clock_time_get (i32.const 4) (i64.const 0) (i32.const 64)))
    ;; a file
    (call $want (i32.const 104) (i32.const 0)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 1)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; a way of seeking
    (call $want (i32.const 105) (i32.const 28)
      (call $fd_seek (i32.load (i32.const 2048)) (i64.const 0) (i32.const 3) (i32.const 64)))
    ;; flags of times
    (call $want (i32.const 106) (i32.const 28)
      (call $path_filestat_set_times (i32.const 4) (i32.const 0) (i32.const 1024) (i32.const 1)
        (i64.const 0) (i64.const 0) (i32.const 16)))
    ;; seeking a stream
    (call $want (i32.const 107) (i32.const 70)
      (call $fd_seek (i32.const 1) (i64.const 0) (i32.const 0) (i32.const 64)))
    ;; seeking a folder
    (call $want (i32.const 108) (i32.const 8)
      (call $fd_seek (i32.const 3) (i64.const 0) (i32.const 0) (i32.const 64)))
    ;; writing to the input
    (call $want (i32.const 109) (i32.const 8)
      (call $fd_write (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; reading the output
    (call $want (i32.const 110) (i32.const 8)
      (call $fd_read (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 64)))
    (call $proc_exit (i32.const 7))))
