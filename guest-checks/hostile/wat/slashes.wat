;; A slash or a dot at the end of names that are no folders.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_symlink"
    (func $path_symlink (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file"
    (func $path_unlink_file (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_rename"
    (func $path_rename (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_link"
    (func $path_link (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_set_times"
    (func $path_filestat_set_times (param i32 i32 i32 i32 i64 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_get"
    (func $path_filestat_get (param i32 i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "f")
  (data (i32.const 1025) "l")
  (data (i32.const 1026) "../repo")
  (data (i32.const 1033) "out")
  (data (i32.const 1036) "f/")
  (data (i32.const 1038) "f/.")
  (data (i32.const 1041) "f//")
  (data (i32.const 1044) "l/")
  (data (i32.const 1046) "l/.")
  (data (i32.const 1049) "out/")
  (data (i32.const 1053) "out/.")
  (data (i32.const 1058) "out/a.txt")
  (data (i32.const 1067) "nothing/")
  (data (i32.const 1075) "new/")
  (data (i32.const 1079) "g")
  (data (i32.const 1080) "g/")
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
    ;; a link to it
    (call $want (i32.const 101) (i32.const 0)
      (call $path_symlink (i32.const 1024) (i32.const 1) (i32.const 4) (i32.const 1025)
        (i32.const 1)))
    ;; a link out
    (call $want (i32.const 102) (i32.const 0)
      (call $path_symlink (i32.const 1026) (i32.const 7) (i32.const 4) (i32.const 1033)
        (i32.const 3)))
    ;; f/
    (call $want (i32.const 103) (i32.const 54)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1036) (i32.const 2) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; f/.
    (call $want (i32.const 104) (i32.const 54)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1038) (i32.const 3) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; f//
    (call $want (i32.const 105) (i32.const 54)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1041) (i32.const 3) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; l/
    (call $want (i32.const 106) (i32.const 54)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1044) (i32.const 2) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; l/.
    (call $want (i32.const 107) (i32.const 54)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1046) (i32.const 3) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; out/
    (call $want (i32.const 108) (i32.const 76)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1049) (i32.const 4) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; out/.
    (call $want (i32.const 109) (i32.const 76)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1053) (i32.const 5) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; out/a.txt
    (call $want (i32.const 110) (i32.const 76)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1058) (i32.const 9) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; nothing/
    (call $want (i32.const 111) (i32.const 44)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1067) (i32.const 8) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; make over a file
    (call $want (i32.const 112) (i32.const 31)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1036) (i32.const 2) (i32.const 1)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; make
    (call $want (i32.const 113) (i32.const 31)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1075) (i32.const 4) (i32.const 1)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; unlink
    (call $want (i32.const 114) (i32.const 54)
      (call $path_unlink_file (i32.const 4) (i32.const 1036) (i32.const 2)))
    ;; rename
    (call $want (i32.const 115) (i32.const 54)
      (call $path_rename (i32.const 4) (i32.const 1036) (i32.const 2) (i32.const 4)
        (i32.const 1079) (i32.const 1)))
    ;; rename to
    (call $want (i32.const 116) (i32.const 54)
      (call $path_rename (i32.const 4) (i32.const 1024) (i32.const 1) (i32.const 4)
        (i32.const 1080) (i32.const 2)))
    ;; link
    (call $want (i32.const 117) (i32.const 54)
      (call $path_link (i32.const 4) (i32.const 0) (i32.const 1036) (i32.const 2) (i32.const 4)
        (i32.const 1079) (i32.const 1)))
    ;; link to
    (call $want (i32.const 118) (i32.const 44)
      (call $path_link (i32.const 4) (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 4)
        (i32.const 1080) (i32.const 2)))
    ;; a link with a slash
    (call $want (i32.const 119) (i32.const 44)
      (call $path_symlink (i32.const 1024) (i32.const 1) (i32.const 4) (i32.const 1080)
        (i32.const 2)))
    ;; times
    (call $want (i32.const 120) (i32.const 54)
      (call $path_filestat_set_times (i32.const 4) (i32.const 0) (i32.const 1036) (i32.const 2)
        (i64.const 1) (i64.const 1) (i32.const 5)))
    ;; the file is still there
    (call $want (i32.const 121) (i32.const 0)
      (call $path_filestat_get (i32.const 4) (i32.const 0) (i32.const 1024) (i32.const 1)
        (i32.const 4096)))
    (call $proc_exit (i32.const 7))))
