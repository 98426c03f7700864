;; A component that recurses without end.
(component
  (core module $main
    (func $down (param i64) (result i64)
      (i64.add (local.get 0) (call $down (i64.add (local.get 0) (i64.const 1)))))
    (func (export "run") (result i32) (drop (call $down (i64.const 0))) (i32.const 0)))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
