;; Links that are harmless where they are made and lead out where they are moved to.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "path_create_directory"
    (func $path_create_directory (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_symlink"
    (func $path_symlink (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_rename"
    (func $path_rename (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file"
    (func $path_unlink_file (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_remove_directory"
    (func $path_remove_directory (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "a")
  (data (i32.const 1025) "a/b")
  (data (i32.const 1028) "repo")
  (data (i32.const 1032) "../../repo")
  (data (i32.const 1042) "a/b/l")
  (data (i32.const 1047) "l")
  (data (i32.const 1048) "l/")
  (data (i32.const 1050) "l/a.txt")
  (data (i32.const 1057) "b")
  (data (i32.const 1058) "b/l")
  (data (i32.const 1061) "b/l/x")
  (data (i32.const 1066) "..")
  (data (i32.const 1068) "../x")
  (data (i32.const 1072) "a/b/c")
  (data (i32.const 1077) "x")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; a folder
    (call $want (i32.const 100) (i32.const 0)
      (call $path_create_directory (i32.const 4) (i32.const 1024) (i32.const 1)))
    ;; a folder
    (call $want (i32.const 101) (i32.const 0)
      (call $path_create_directory (i32.const 4) (i32.const 1025) (i32.const 3)))
    ;; a folder
    (call $want (i32.const 102) (i32.const 0)
      (call $path_create_directory (i32.const 4) (i32.const 1028) (i32.const 4)))
    ;; a link
    (call $want (i32.const 103) (i32.const 0)
      (call $path_symlink (i32.const 1032) (i32.const 10) (i32.const 4) (i32.const 1042)
        (i32.const 5)))
    ;; which leads inside
    (call $want (i32.const 104) (i32.const 0)
      (call $path_open (i32.const 4) (i32.const 1) (i32.const 1042) (i32.const 5) (i32.const 2)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; moved up
    (call $want (i32.const 105) (i32.const 0)
      (call $path_rename (i32.const 4) (i32.const 1042) (i32.const 5) (i32.const 4)
        (i32.const 1047) (i32.const 1)))
    ;; it leads out
    (call $want (i32.const 106) (i32.const 76)
      (call $path_open (i32.const 4) (i32.const 1) (i32.const 1047) (i32.const 1) (i32.const 2)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; with a slash too
    (call $want (i32.const 107) (i32.const 76)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1048) (i32.const 2) (i32.const 2)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; and below
    (call $want (i32.const 108) (i32.const 76)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1050) (i32.const 7) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; moved back
    (call $want (i32.const 109) (i32.const 0)
      (call $path_rename (i32.const 4) (i32.const 1047) (i32.const 1) (i32.const 4)
        (i32.const 1042) (i32.const 5)))
    ;; the folder moved up
    (call $want (i32.const 110) (i32.const 0)
      (call $path_rename (i32.const 4) (i32.const 1025) (i32.const 3) (i32.const 4)
        (i32.const 1057) (i32.const 1)))
    ;; it leads out
    (call $want (i32.const 111) (i32.const 76)
      (call $path_open (i32.const 4) (i32.const 1) (i32.const 1058) (i32.const 3) (i32.const 2)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; and for writing
    (call $want (i32.const 112) (i32.const 76)
      (call $path_open (i32.const 4) (i32.const 1) (i32.const 1061) (i32.const 5) (i32.const 1)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; the folder as a grant
    (call $want (i32.const 113) (i32.const 0)
      (call $path_open (i32.const 4) (i32.const 0) (i32.const 1057) (i32.const 1) (i32.const 2)
        (i64.const 2) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    ;; out of it
    (call $want (i32.const 114) (i32.const 76)
      (call $path_open (i32.load (i32.const 2048)) (i32.const 1) (i32.const 1047) (i32.const 1)
        (i32.const 2) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2052)))
    ;; by steps
    (call $want (i32.const 115) (i32.const 76)
      (call $path_open (i32.load (i32.const 2048)) (i32.const 0) (i32.const 1066) (i32.const 2)
        (i32.const 2) (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2052)))
    ;; the grant moved down
    (call $want (i32.const 116) (i32.const 0)
      (call $path_rename (i32.const 4) (i32.const 1057) (i32.const 1) (i32.const 4)
        (i32.const 1025) (i32.const 3)))
    ;; out of it
    (call $want (i32.const 117) (i32.const 76)
      (call $path_open (i32.load (i32.const 2048)) (i32.const 0) (i32.const 1068) (i32.const 4)
        (i32.const 1) (i64.const 1073741823) (i64.const 1073741823) (i32.const 0)
        (i32.const 2052)))
    ;; a folder into itself
    (call $want (i32.const 118) (i32.const 28)
      (call $path_rename (i32.const 4) (i32.const 1024) (i32.const 1) (i32.const 4)
        (i32.const 1072) (i32.const 5)))
    ;; the empty grant removed
    (call $want (i32.const 119) (i32.const 0)
      (call $path_unlink_file (i32.load (i32.const 2048)) (i32.const 1047) (i32.const 1)))
    ;; removed
    (call $want (i32.const 120) (i32.const 0)
      (call $path_remove_directory (i32.const 4) (i32.const 1025) (i32.const 3)))
    ;; nothing comes into a removed folder
    (call $want (i32.const 121) (i32.const 44)
      (call $path_open (i32.load (i32.const 2048)) (i32.const 0) (i32.const 1077) (i32.const 1)
        (i32.const 1) (i64.const 1073741823) (i64.const 1073741823) (i32.const 0)
        (i32.const 2052)))
    ;; nor a folder
    (call $want (i32.const 122) (i32.const 44)
      (call $path_create_directory (i32.load (i32.const 2048)) (i32.const 1077) (i32.const 1)))
    (call $proc_exit (i32.const 7))))
