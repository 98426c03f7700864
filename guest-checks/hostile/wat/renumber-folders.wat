;; Granted folders and streams in place of each other.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_renumber"
    (func $fd_renumber (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_create_directory"
    (func $path_create_directory (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get"
    (func $fd_prestat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write"
    (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close"
    (func $fd_close (param i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "new")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; onto a number never opened
    (call $want (i32.const 100) (i32.const 8)
      (call $fd_renumber (i32.const 3) (i32.const 77)))
    ;; from one
    (call $want (i32.const 101) (i32.const 8)
      (call $fd_renumber (i32.const 77) (i32.const 3)))
    ;; the last number
    (call $want (i32.const 102) (i32.const 8)
      (call $fd_renumber (i32.const -1) (i32.const 3)))
    ;; to the last number
    (call $want (i32.const 103) (i32.const 8)
      (call $fd_renumber (i32.const 3) (i32.const -1)))
    ;; onto itself
    (call $want (i32.const 104) (i32.const 0)
      (call $fd_renumber (i32.const 4) (i32.const 4)))
    ;; the read-only folder in place of the writable one
    (call $want (i32.const 105) (i32.const 0)
      (call $fd_renumber (i32.const 3) (i32.const 4)))
    ;; which stays read-only
    (call $want (i32.const 106) (i32.const 69)
      (call $path_create_directory (i32.const 4) (i32.const 1024) (i32.const 3)))
    ;; the old number is gone
    (call $want (i32.const 107) (i32.const 8)
      (call $fd_prestat_get (i32.const 3) (i32.const 0)))
    ;; a granted folder keeps its name
    (call $want (i32.const 108) (i32.const 0)
      (call $fd_prestat_get (i32.const 4) (i32.const 0)))
    ;; the folder as standard output
    (call $want (i32.const 109) (i32.const 0)
      (call $fd_renumber (i32.const 4) (i32.const 1)))
    ;; which takes no text: a folder has no right to be written to
    (call $want (i32.const 110) (i32.const 8)
      (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
    ;; a stream as nothing
    (call $want (i32.const 111) (i32.const 8)
      (call $fd_renumber (i32.const 2) (i32.const 3)))
    ;; a stream over the folder
    (call $want (i32.const 112) (i32.const 0)
      (call $fd_renumber (i32.const 2) (i32.const 1)))
    ;; close
    (call $want (i32.const 113) (i32.const 0)
      (call $fd_close (i32.const 1)))
    ;; close again
    (call $want (i32.const 114) (i32.const 8)
      (call $fd_close (i32.const 1)))
    (call $proc_exit (i32.const 7))))
