;; A component that exits by the interface for it, inside the call of its entry.
(component
  (import "wasi:cli/exit@0.2.0" (instance $exit
    (export "exit" (func (param "status" (result))))))
  (core func $leave (canon lower (func $exit "exit")))
  (core module $main
    (import "host" "exit" (func $exit (param i32)))
    (func (export "run") (result i32) (call $exit (i32.const 1)) unreachable))
  (core instance $main (instantiate $main
    (with "host" (instance (export "exit" (func $leave))))))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
