;; Every signal to oneself.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "proc_raise"
    (func $proc_raise (param i32) (result i32)))
  (memory (export "memory") 1)
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; signal 0
    (call $want (i32.const 100) (i32.const 52)
      (call $proc_raise (i32.const 0)))
    ;; signal 1
    (call $want (i32.const 101) (i32.const 52)
      (call $proc_raise (i32.const 1)))
    ;; signal 2
    (call $want (i32.const 102) (i32.const 52)
      (call $proc_raise (i32.const 2)))
    ;; signal 6
    (call $want (i32.const 103) (i32.const 52)
      (call $proc_raise (i32.const 6)))
    ;; signal 9
    (call $want (i32.const 104) (i32.const 52)
      (call $proc_raise (i32.const 9)))
    ;; signal 11
    (call $want (i32.const 105) (i32.const 52)
      (call $proc_raise (i32.const 11)))
    ;; signal 15
    (call $want (i32.const 106) (i32.const 52)
      (call $proc_raise (i32.const 15)))
    ;; signal 30
    (call $want (i32.const 107) (i32.const 52)
      (call $proc_raise (i32.const 30)))
    ;; signal 31
    (call $want (i32.const 108) (i32.const 52)
      (call $proc_raise (i32.const 31)))
    ;; signal 255
    (call $want (i32.const 109) (i32.const 52)
      (call $proc_raise (i32.const 255)))
    ;; signal -1
    (call $want (i32.const 110) (i32.const 52)
      (call $proc_raise (i32.const -1)))
    (call $proc_exit (i32.const 7))))
