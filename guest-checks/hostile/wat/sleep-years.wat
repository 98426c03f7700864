;; Sleeps at the ends of the numbers, relative and absolute, by every clock.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff"
    (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get"
    (func $clock_time_get (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 2048) "\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\ff\ff\ff\ff\ff\ff\ff\ff\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 2096) "\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\ff\ff\ff\ff\ff\ff\ff\ff\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 2144) "\03\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\ff\ff\ff\ff\ff\ff\ff\ff\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00")
  (data (i32.const 2192) "\04\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\00\00\00\00\00\00\00\80\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00")
  (data (i32.const 2240) "\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00")
  (data (i32.const 2288) "\06\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\02\00\00\00\00\00\00\00\00\00d\a7\b3\b6\e0\0d\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 2336) "\07\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\03\00\00\00\00\00\00\00\00\00d\a7\b3\b6\e0\0d\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  (data (i32.const 2448) "\09\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00M\00\00\00\00\00\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; for ever by the steady clock
    (call $want (i32.const 100) (i32.const 0)
      (call $poll_oneoff (i32.const 2048) (i32.const 4096) (i32.const 1) (i32.const 8)))
    ;; for ever by the wall clock
    (call $want (i32.const 101) (i32.const 0)
      (call $poll_oneoff (i32.const 2096) (i32.const 4096) (i32.const 1) (i32.const 8)))
    ;; until the last instant
    (call $want (i32.const 102) (i32.const 0)
      (call $poll_oneoff (i32.const 2144) (i32.const 4096) (i32.const 1) (i32.const 8)))
    ;; until an instant with the sign
    (call $want (i32.const 103) (i32.const 0)
      (call $poll_oneoff (i32.const 2192) (i32.const 4096) (i32.const 1) (i32.const 8)))
    ;; until 1970
    (call $want (i32.const 104) (i32.const 0)
      (call $poll_oneoff (i32.const 2240) (i32.const 4096) (i32.const 1) (i32.const 8)))
    ;; by the time of the process
    (call $want (i32.const 105) (i32.const 0)
      (call $poll_oneoff (i32.const 2288) (i32.const 4096) (i32.const 1) (i32.const 8)))
    ;; by the time of the thread
    (call $want (i32.const 106) (i32.const 0)
      (call $poll_oneoff (i32.const 2336) (i32.const 4096) (i32.const 1) (i32.const 8)))
    ;; by a clock that is none: the event has the error
    (call $want (i32.const 107) (i32.const 0)
      (call $poll_oneoff (i32.const 2448) (i32.const 4096) (i32.const 1) (i32.const 8)))
    ;; seven at once
    (call $want (i32.const 108) (i32.const 0)
      (call $poll_oneoff (i32.const 2048) (i32.const 4096) (i32.const 7) (i32.const 8)))
    ;; the time afterwards
    (call $want (i32.const 109) (i32.const 0)
      (call $clock_time_get (i32.const 1) (i64.const 0) (i32.const 16)))
    (if (i64.ne (i64.load (i32.const 16)) (i64.const -1)) (then (call $proc_exit (i32.const 1))))
    (call $proc_exit (i32.const 7))))
