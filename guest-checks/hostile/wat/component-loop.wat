;; A component that never ends.
(component
  (core module $main
    (func (export "run") (result i32) (loop $again (br $again)) (i32.const 0)))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
