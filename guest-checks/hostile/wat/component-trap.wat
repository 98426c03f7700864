;; A component that traps.
(component
  (core module $main
    (func (export "run") (result i32) unreachable))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
