;; Opening files of a read-only folder with every right, flag and mode.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_set_size"
    (func $fd_filestat_set_size (param i32 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_allocate"
    (func $fd_allocate (param i32 i64 i64) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "a.txt")
  (data (i32.const 1029) "new")
  (data (i32.const 1032) "src")
  (data (i32.const 1035) "link")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; every right
    (call $want (i32.const 100) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 0)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; writing
    (call $want (i32.const 101) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 0)
        (i64.const 64) (i64.const 64) (i32.const 0) (i32.const 2048)))
    ;; setting the size
    (call $want (i32.const 102) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 0)
        (i64.const 4194304) (i64.const 4194304) (i32.const 0) (i32.const 2048)))
    ;; allocating
    (call $want (i32.const 103) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 0)
        (i64.const 256) (i64.const 256) (i32.const 0) (i32.const 2048)))
    ;; truncating with every right
    (call $want (i32.const 104) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 8)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; truncating with no right
    (call $want (i32.const 105) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 8)
        (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 2048)))
    ;; truncating with the right to read
    (call $want (i32.const 106) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 8)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; making or truncating
    (call $want (i32.const 107) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 9)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; making another
    (call $want (i32.const 108) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1029) (i32.const 3) (i32.const 1)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; making it exclusively
    (call $want (i32.const 109) (i32.const 20)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 5)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; as a folder
    (call $want (i32.const 110) (i32.const 54)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 2)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; writing to a folder
    (call $want (i32.const 111) (i32.const 31)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1032) (i32.const 3) (i32.const 0)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; flags that do not exist
    (call $want (i32.const 112) (i32.const 28)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 32) (i32.const 2048)))
    ;; reading
    (call $want (i32.const 113) (i32.const 0)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 0)
        (i64.const 2) (i64.const 1073741823) (i32.const 1) (i32.const 2048)))
    ;; then writing
    (call $want (i32.const 114) (i32.const 8)
      (call $fd_write (i32.load (i32.const 2048)) (i32.const 0) (i32.const 0) (i32.const 8)))
    ;; then setting the size
    (call $want (i32.const 115) (i32.const 8)
      (call $fd_filestat_set_size (i32.load (i32.const 2048)) (i64.const 0)))
    ;; then allocating
    (call $want (i32.const 116) (i32.const 8)
      (call $fd_allocate (i32.load (i32.const 2048)) (i64.const 0) (i64.const 100)))
    ;; reading through a link
    (call $want (i32.const 117) (i32.const 0)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1035) (i32.const 4) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; truncating through a link
    (call $want (i32.const 118) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1035) (i32.const 4) (i32.const 8)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; opening a link
    (call $want (i32.const 119) (i32.const 32)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1035) (i32.const 4) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    (call $proc_exit (i32.const 7))))
