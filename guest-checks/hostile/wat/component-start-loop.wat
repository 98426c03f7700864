;; A component of which a part never starts.
(component
  (core module $main
    (func $spin (loop $again (br $again)))
    (start $spin)
    (func (export "run") (result i32) (i32.const 0)))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
