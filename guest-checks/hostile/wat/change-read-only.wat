;; Every call that changes a folder, on a read-only one.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "path_create_directory"
    (func $path_create_directory (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_symlink"
    (func $path_symlink (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file"
    (func $path_unlink_file (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_rename"
    (func $path_rename (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_link"
    (func $path_link (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_set_times"
    (func $path_filestat_set_times (param i32 i32 i32 i32 i64 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_remove_directory"
    (func $path_remove_directory (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "new")
  (data (i32.const 1027) "a.txt")
  (data (i32.const 1032) "link")
  (data (i32.const 1036) "b")
  (data (i32.const 1037) "src/b.txt")
  (data (i32.const 1046) "f")
  (data (i32.const 1047) "src")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; a folder
    (call $want (i32.const 100) (i32.const 69)
      (call $path_create_directory (i32.const 3) (i32.const 1024) (i32.const 3)))
    ;; a link
    (call $want (i32.const 101) (i32.const 69)
      (call $path_symlink (i32.const 1027) (i32.const 5) (i32.const 3) (i32.const 1024)
        (i32.const 3)))
    ;; unlink
    (call $want (i32.const 102) (i32.const 69)
      (call $path_unlink_file (i32.const 3) (i32.const 1027) (i32.const 5)))
    ;; unlink a link
    (call $want (i32.const 103) (i32.const 69)
      (call $path_unlink_file (i32.const 3) (i32.const 1032) (i32.const 4)))
    ;; rename within
    (call $want (i32.const 104) (i32.const 69)
      (call $path_rename (i32.const 3) (i32.const 1027) (i32.const 5) (i32.const 3)
        (i32.const 1036) (i32.const 1)))
    ;; rename out
    (call $want (i32.const 105) (i32.const 69)
      (call $path_rename (i32.const 3) (i32.const 1027) (i32.const 5) (i32.const 4)
        (i32.const 1036) (i32.const 1)))
    ;; rename over another
    (call $want (i32.const 106) (i32.const 69)
      (call $path_rename (i32.const 3) (i32.const 1027) (i32.const 5) (i32.const 3)
        (i32.const 1037) (i32.const 9)))
    ;; a file elsewhere
    (call $want (i32.const 107) (i32.const 0)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1046) (i32.const 1) (i32.const 1)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; rename in
    (call $want (i32.const 108) (i32.const 69)
      (call $path_rename (i32.const 4) (i32.const 1046) (i32.const 1) (i32.const 3)
        (i32.const 1046) (i32.const 1)))
    ;; rename over
    (call $want (i32.const 109) (i32.const 69)
      (call $path_rename (i32.const 4) (i32.const 1046) (i32.const 1) (i32.const 3)
        (i32.const 1027) (i32.const 5)))
    ;; hard link within
    (call $want (i32.const 110) (i32.const 69)
      (call $path_link (i32.const 3) (i32.const 0) (i32.const 1027) (i32.const 5) (i32.const 3)
        (i32.const 1036) (i32.const 1)))
    ;; hard link out
    (call $want (i32.const 111) (i32.const 69)
      (call $path_link (i32.const 3) (i32.const 0) (i32.const 1027) (i32.const 5) (i32.const 4)
        (i32.const 1036) (i32.const 1)))
    ;; hard link out through a link
    (call $want (i32.const 112) (i32.const 69)
      (call $path_link (i32.const 3) (i32.const 1) (i32.const 1032) (i32.const 4) (i32.const 4)
        (i32.const 1036) (i32.const 1)))
    ;; hard link of a link
    (call $want (i32.const 113) (i32.const 69)
      (call $path_link (i32.const 3) (i32.const 0) (i32.const 1032) (i32.const 4) (i32.const 4)
        (i32.const 1036) (i32.const 1)))
    ;; hard link in
    (call $want (i32.const 114) (i32.const 69)
      (call $path_link (i32.const 4) (i32.const 0) (i32.const 1046) (i32.const 1) (i32.const 3)
        (i32.const 1036) (i32.const 1)))
    ;; times
    (call $want (i32.const 115) (i32.const 69)
      (call $path_filestat_set_times (i32.const 3) (i32.const 0) (i32.const 1027) (i32.const 5)
        (i64.const 1) (i64.const 1) (i32.const 5)))
    ;; times through a link
    (call $want (i32.const 116) (i32.const 69)
      (call $path_filestat_set_times (i32.const 3) (i32.const 1) (i32.const 1032) (i32.const 4)
        (i64.const 1) (i64.const 1) (i32.const 5)))
    ;; remove one that is full
    (call $want (i32.const 117) (i32.const 55)
      (call $path_remove_directory (i32.const 3) (i32.const 1047) (i32.const 3)))
    (call $proc_exit (i32.const 7))))
