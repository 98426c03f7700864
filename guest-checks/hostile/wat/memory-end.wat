;; Calls whose structures begin inside the memory and end past it.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_get"
    (func $fd_filestat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get"
    (func $fd_fdstat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get"
    (func $fd_prestat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_dir_name"
    (func $fd_prestat_dir_name (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get"
    (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get"
    (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_get"
    (func $path_filestat_get (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_readlink"
    (func $path_readlink (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_readdir"
    (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "a.txt")
  (data (i32.const 1029) "link")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; a stat
    (call $want (i32.const 100) (i32.const 21)
      (call $fd_filestat_get (i32.const 3) (i32.const 65473)))
    ;; a stat that just fits
    (call $want (i32.const 101) (i32.const 0)
      (call $fd_filestat_get (i32.const 3) (i32.const 65472)))
    ;; fdstat
    (call $want (i32.const 102) (i32.const 21)
      (call $fd_fdstat_get (i32.const 1) (i32.const 65513)))
    ;; fdstat that just fits
    (call $want (i32.const 103) (i32.const 0)
      (call $fd_fdstat_get (i32.const 1) (i32.const 65512)))
    ;; prestat
    (call $want (i32.const 104) (i32.const 21)
      (call $fd_prestat_get (i32.const 3) (i32.const 65529)))
    ;; prestat that just fits
    (call $want (i32.const 105) (i32.const 0)
      (call $fd_prestat_get (i32.const 3) (i32.const 65528)))
    ;; the name of a folder
    (call $want (i32.const 106) (i32.const 21)
      (call $fd_prestat_dir_name (i32.const 3) (i32.const 65532) (i32.const 5)))
    ;; a name that just fits
    (call $want (i32.const 107) (i32.const 0)
      (call $fd_prestat_dir_name (i32.const 3) (i32.const 65531) (i32.const 5)))
    ;; a name with too little room
    (call $want (i32.const 108) (i32.const 37)
      (call $fd_prestat_dir_name (i32.const 3) (i32.const 0) (i32.const 4)))
    ;; the time
    (call $want (i32.const 109) (i32.const 21)
      (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 65529)))
    ;; the time at the last address
    (call $want (i32.const 110) (i32.const 21)
      (call $clock_time_get (i32.const 0) (i64.const 0) (i32.const -1)))
    ;; sizes of arguments
    (call $want (i32.const 111) (i32.const 21)
      (call $args_sizes_get (i32.const 65533) (i32.const 0)))
    ;; the other size
    (call $want (i32.const 112) (i32.const 21)
      (call $args_sizes_get (i32.const 0) (i32.const 65533)))
    ;; a vector
    (call $want (i32.const 113) (i32.const 21)
      (call $fd_write (i32.const 1) (i32.const 65529) (i32.const 1) (i32.const 0)))
    ;; the second vector
    (call $want (i32.const 114) (i32.const 21)
      (call $fd_write (i32.const 1) (i32.const 65528) (i32.const 2) (i32.const 0)))
    ;; a count of bytes
    (call $want (i32.const 115) (i32.const 21)
      (call $fd_write (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 65533)))
    ;; a path
    (call $want (i32.const 116) (i32.const 21)
      (call $path_filestat_get (i32.const 3) (i32.const 0) (i32.const 65535) (i32.const 2)
        (i32.const 0)))
    ;; a path that wraps
    (call $want (i32.const 117) (i32.const 21)
      (call $path_filestat_get (i32.const 3) (i32.const 0) (i32.const -1) (i32.const 2)
        (i32.const 0)))
    ;; a stat of a path
    (call $want (i32.const 118) (i32.const 21)
      (call $path_filestat_get (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5)
        (i32.const 65528)))
    ;; a new descriptor
    (call $want (i32.const 119) (i32.const 21)
      (call $path_open (i32.const 3) (i32.const 0) (i32.const 1024) (i32.const 5) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 65533)))
    ;; a target of a link
    (call $want (i32.const 120) (i32.const 21)
      (call $path_readlink (i32.const 3) (i32.const 1029) (i32.const 4) (i32.const 65535)
        (i32.const 8) (i32.const 0)))
    ;; a count of a target
    (call $want (i32.const 121) (i32.const 21)
      (call $path_readlink (i32.const 3) (i32.const 1029) (i32.const 4) (i32.const 0)
        (i32.const 8) (i32.const 65533)))
    ;; an offset
    (call $want (i32.const 122) (i32.const 21)
      (call $fd_readdir (i32.const 3) (i32.const 65528) (i32.const 9) (i64.const 0)
        (i32.const 0)))
    (call $proc_exit (i32.const 7))))
