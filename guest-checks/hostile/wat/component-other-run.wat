;; A component whose entry has another type.
(component
  (core module $main (func (export "run") (param i32) (result i32) (local.get 0)))
  (core instance $main (instantiate $main))
  (func $run (param "x" u32) (result u32) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
