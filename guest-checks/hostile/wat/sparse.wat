;; Giant offsets and sizes in one small file.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pwrite"
    (func $fd_pwrite (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_set_size"
    (func $fd_filestat_set_size (param i32 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_allocate"
    (func $fd_allocate (param i32 i64 i64) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 2064) "\00\08\00\00\01\00\00\00")
  (data (i32.const 1024) "f")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; a file
    (call $want (i32.const 100) (i32.const 0)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 1)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; at the quota
    (call $want (i32.const 101) (i32.const 51)
      (call $fd_pwrite (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i64.const 4194304) (i32.const 2056)))
    ;; at the quota, by size
    (call $want (i32.const 102) (i32.const 51)
      (call $fd_filestat_set_size (i32.load (i32.const 2048)) (i64.const 4194305)))
    ;; at the quota, by allocating
    (call $want (i32.const 103) (i32.const 51)
      (call $fd_allocate (i32.load (i32.const 2048)) (i64.const 4194304) (i64.const 1)))
    ;; at a tebibyte
    (call $want (i32.const 104) (i32.const 51)
      (call $fd_pwrite (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i64.const 1099511627776) (i32.const 2056)))
    ;; at a tebibyte, by size
    (call $want (i32.const 105) (i32.const 51)
      (call $fd_filestat_set_size (i32.load (i32.const 2048)) (i64.const 1099511627777)))
    ;; at a tebibyte, by allocating
    (call $want (i32.const 106) (i32.const 51)
      (call $fd_allocate (i32.load (i32.const 2048)) (i64.const 1099511627776) (i64.const 1)))
    ;; far
    (call $want (i32.const 107) (i32.const 51)
      (call $fd_pwrite (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i64.const 4611686018427387904) (i32.const 2056)))
    ;; far, by size
    (call $want (i32.const 108) (i32.const 51)
      (call $fd_filestat_set_size (i32.load (i32.const 2048)) (i64.const 4611686018427387905)))
    ;; far, by allocating
    (call $want (i32.const 109) (i32.const 51)
      (call $fd_allocate (i32.load (i32.const 2048)) (i64.const 4611686018427387904)
        (i64.const 1)))
    ;; at the end of the numbers
    (call $want (i32.const 110) (i32.const 51)
      (call $fd_pwrite (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i64.const 9223372036854775806) (i32.const 2056)))
    ;; at the end of the numbers, by size
    (call $want (i32.const 111) (i32.const 51)
      (call $fd_filestat_set_size (i32.load (i32.const 2048)) (i64.const 9223372036854775807)))
    ;; at the end of the numbers, by allocating
    (call $want (i32.const 112) (i32.const 51)
      (call $fd_allocate (i32.load (i32.const 2048)) (i64.const 9223372036854775806)
        (i64.const 1)))
    ;; a sum that wraps
    (call $want (i32.const 113) (i32.const 22)
      (call $fd_pwrite (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1) (i64.const -1)
        (i32.const 2056)))
    ;; allocating a sum that wraps
    (call $want (i32.const 114) (i32.const 22)
      (call $fd_allocate (i32.load (i32.const 2048)) (i64.const -1) (i64.const 2)))
    ;; at the last byte of the quota
    (call $want (i32.const 115) (i32.const 0)
      (call $fd_pwrite (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i64.const 4194303) (i32.const 2056)))
    ;; empty again
    (call $want (i32.const 116) (i32.const 0)
      (call $fd_filestat_set_size (i32.load (i32.const 2048)) (i64.const 0)))
    ;; and full by size
    (call $want (i32.const 117) (i32.const 0)
      (call $fd_filestat_set_size (i32.load (i32.const 2048)) (i64.const 4194304)))
    (call $proc_exit (i32.const 7))))
