;; A million subscriptions in one call, all inside the memory.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 800)
  (data (i32.const 2008) "\03")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; a million
    (call $want (i32.const 100) (i32.const 28)
      (call $poll_oneoff (i32.const 0) (i32.const 0) (i32.const 1000000) (i32.const 52428792)))
    ;; one more than the bound
    (call $want (i32.const 101) (i32.const 28)
      (call $poll_oneoff (i32.const 0) (i32.const 0) (i32.const 4097) (i32.const 52428792)))
    ;; none
    (call $want (i32.const 102) (i32.const 28)
      (call $poll_oneoff (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 52428792)))
    ;; all there are
    (call $want (i32.const 103) (i32.const 28)
      (call $poll_oneoff (i32.const 0) (i32.const 0) (i32.const -1) (i32.const 52428792)))
    ;; past the end
    (call $want (i32.const 104) (i32.const 21)
      (call $poll_oneoff (i32.const 52428760) (i32.const 0) (i32.const 1) (i32.const 0)))
    ;; events past the end
    (call $want (i32.const 105) (i32.const 21)
      (call $poll_oneoff (i32.const 0) (i32.const 52428795) (i32.const 1) (i32.const 64)))
    ;; a count nowhere
    (call $want (i32.const 106) (i32.const 21)
      (call $poll_oneoff (i32.const 0) (i32.const 64) (i32.const 1) (i32.const -3)))
    ;; a kind that is none
    (call $want (i32.const 107) (i32.const 28)
      (call $poll_oneoff (i32.const 2000) (i32.const 64) (i32.const 1) (i32.const 512)))
    (call $proc_exit (i32.const 7))))
