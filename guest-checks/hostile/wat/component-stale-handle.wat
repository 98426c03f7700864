;; A component that drops a handle twice.
(component
  (type $thing (resource (rep i32)))
  (core func $new (canon resource.new $thing))
  (core func $drop (canon resource.drop $thing))
  (core module $main
    (import "host" "new" (func $new (param i32) (result i32)))
    (import "host" "drop" (func $drop (param i32)))
    (func (export "run") (result i32) (local i32)
      (local.set 0 (call $new (i32.const 1)))
      (call $drop (local.get 0))
      (call $drop (local.get 0))
      (i32.const 0)))
  (core instance $main (instantiate $main
    (with "host" (instance (export "new" (func $new)) (export "drop" (func $drop))))))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
