;; Devices: what they give, and that they cannot be changed, moved or replaced.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read"
    (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_set_size"
    (func $fd_filestat_set_size (param i32 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_allocate"
    (func $fd_allocate (param i32 i64 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pread"
    (func $fd_pread (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file"
    (func $path_unlink_file (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_rename"
    (func $path_rename (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_link"
    (func $path_link (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_remove_directory"
    (func $path_remove_directory (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "dev/zero")
  (data (i32.const 2064) "\00\10\00\00\00\80\00\00")
  (data (i32.const 1032) "dev/urandom")
  (data (i32.const 1043) "dev/results")
  (data (i32.const 1054) "dev/null")
  (data (i32.const 1062) "tmp/x")
  (data (i32.const 1067) "tmp")
  (data (i32.const 1070) "dev")
  (data (i32.const 1073) "dev/mem")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; zero
    (call $want (i32.const 100) (i32.const 0)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 8) (i32.const 0)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; read
    (call $want (i32.const 101) (i32.const 0)
      (call $fd_read (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i32.const 2056)))
    ;; write
    (call $want (i32.const 102) (i32.const 0)
      (call $fd_write (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i32.const 2056)))
    ;; set its size
    (call $want (i32.const 103) (i32.const 69)
      (call $fd_filestat_set_size (i32.load (i32.const 2048)) (i64.const 1099511627776)))
    ;; allocate
    (call $want (i32.const 104) (i32.const 69)
      (call $fd_allocate (i32.load (i32.const 2048)) (i64.const 0) (i64.const 1099511627776)))
    ;; random
    (call $want (i32.const 105) (i32.const 0)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1032) (i32.const 11) (i32.const 0)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; read
    (call $want (i32.const 106) (i32.const 0)
      (call $fd_pread (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i64.const 4611686018427387904) (i32.const 2056)))
    ;; results
    (call $want (i32.const 107) (i32.const 0)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1043) (i32.const 11) (i32.const 0)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; read what was reported
    (call $want (i32.const 108) (i32.const 8)
      (call $fd_read (i32.load (i32.const 2048)) (i32.const 2064) (i32.const 1)
        (i32.const 2056)))
    ;; truncating null
    (call $want (i32.const 109) (i32.const 0)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1054) (i32.const 8) (i32.const 8)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; unlink
    (call $want (i32.const 110) (i32.const 10)
      (call $path_unlink_file (i32.const 3) (i32.const 1054) (i32.const 8)))
    ;; rename
    (call $want (i32.const 111) (i32.const 10)
      (call $path_rename (i32.const 3) (i32.const 1054) (i32.const 8) (i32.const 3)
        (i32.const 1062) (i32.const 5)))
    ;; hard link
    (call $want (i32.const 112) (i32.const 63)
      (call $path_link (i32.const 3) (i32.const 0) (i32.const 1054) (i32.const 8) (i32.const 3)
        (i32.const 1062) (i32.const 5)))
    ;; unlink
    (call $want (i32.const 113) (i32.const 10)
      (call $path_unlink_file (i32.const 3) (i32.const 1043) (i32.const 11)))
    ;; rename
    (call $want (i32.const 114) (i32.const 10)
      (call $path_rename (i32.const 3) (i32.const 1043) (i32.const 11) (i32.const 3)
        (i32.const 1062) (i32.const 5)))
    ;; hard link
    (call $want (i32.const 115) (i32.const 63)
      (call $path_link (i32.const 3) (i32.const 0) (i32.const 1043) (i32.const 11) (i32.const 3)
        (i32.const 1062) (i32.const 5)))
    ;; unlink
    (call $want (i32.const 116) (i32.const 10)
      (call $path_unlink_file (i32.const 3) (i32.const 1024) (i32.const 8)))
    ;; rename
    (call $want (i32.const 117) (i32.const 10)
      (call $path_rename (i32.const 3) (i32.const 1024) (i32.const 8) (i32.const 3)
        (i32.const 1062) (i32.const 5)))
    ;; hard link
    (call $want (i32.const 118) (i32.const 63)
      (call $path_link (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 8) (i32.const 3)
        (i32.const 1062) (i32.const 5)))
    ;; replace the results
    (call $want (i32.const 119) (i32.const 10)
      (call $path_rename (i32.const 3) (i32.const 1067) (i32.const 3) (i32.const 3)
        (i32.const 1043) (i32.const 11)))
    ;; remove the folder
    (call $want (i32.const 120) (i32.const 55)
      (call $path_remove_directory (i32.const 3) (i32.const 1070) (i32.const 3)))
    ;; a device of the own
    (call $want (i32.const 121) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1073) (i32.const 7) (i32.const 1)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    (call $proc_exit (i32.const 7))))
