;; A component that calls itself through its own import, which the model forbids.
(component
  (core module $main
    (func (export "run") (result i32) (i32.const 0)))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command))
  (component $other (import "run" (func (result (result)))))
  (instance (instantiate $other (with "run" (func $run)))))
