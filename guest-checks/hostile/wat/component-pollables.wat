;; A component that makes timers without end and keeps them.
(component
  (import "wasi:io/poll@0.2.0" (instance $poll (export "pollable" (type (sub resource)))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $outer))
    (export "pollable" (type (eq $outer)))
    (export "subscribe-duration" (func (param "when" u64) (result (own 1))))))
  (core func $timer (canon lower (func $clock "subscribe-duration")))
  (core module $main
    (import "host" "timer" (func $timer (param i64) (result i32)))
    (func (export "run") (result i32)
      (loop $again (drop (call $timer (i64.const -1))) (br $again))
      (i32.const 0)))
  (core instance $main (instantiate $main
    (with "host" (instance (export "timer" (func $timer))))))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
