;; Absolute links, followed from a grant of the root.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "path_symlink"
    (func $path_symlink (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "/repo/a.txt")
  (data (i32.const 1035) "tmp/l")
  (data (i32.const 1040) "../../../../repo/a.txt")
  (data (i32.const 1062) "tmp/u")
  (data (i32.const 1067) "/etc/passwd")
  (data (i32.const 1078) "tmp/p")
  (data (i32.const 1083) "/proc/self/mem")
  (data (i32.const 1097) "tmp/m")
  (data (i32.const 1102) "new")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; a link
    (call $want (i32.const 100) (i32.const 0)
      (call $path_symlink (i32.const 1024) (i32.const 11) (i32.const 3) (i32.const 1035)
        (i32.const 5)))
    ;; it leads there
    (call $want (i32.const 101) (i32.const 0)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1035) (i32.const 5) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; but not for writing
    (call $want (i32.const 102) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1035) (i32.const 5) (i32.const 8)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; a link up
    (call $want (i32.const 103) (i32.const 0)
      (call $path_symlink (i32.const 1040) (i32.const 22) (i32.const 3) (i32.const 1062)
        (i32.const 5)))
    ;; above the root is the root
    (call $want (i32.const 104) (i32.const 0)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1062) (i32.const 5) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; a link to a file of the host
    (call $want (i32.const 105) (i32.const 0)
      (call $path_symlink (i32.const 1067) (i32.const 11) (i32.const 3) (i32.const 1078)
        (i32.const 5)))
    ;; which is not there
    (call $want (i32.const 106) (i32.const 44)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1078) (i32.const 5) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; a link to the processes
    (call $want (i32.const 107) (i32.const 0)
      (call $path_symlink (i32.const 1083) (i32.const 14) (i32.const 3) (i32.const 1097)
        (i32.const 5)))
    ;; which are not there
    (call $want (i32.const 108) (i32.const 44)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1097) (i32.const 5) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; an absolute path
    (call $want (i32.const 109) (i32.const 76)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1024) (i32.const 11) (i32.const 0)
        (i64.const 2) (i64.const 2) (i32.const 0) (i32.const 2048)))
    ;; a name in the root
    (call $want (i32.const 110) (i32.const 69)
      (call $path_open (i32.const 3) (i32.const 1) (i32.const 1102) (i32.const 3) (i32.const 1)
        (i64.const 1073741823) (i64.const 1073741823) (i32.const 0) (i32.const 2048)))
    (call $proc_exit (i32.const 7))))
