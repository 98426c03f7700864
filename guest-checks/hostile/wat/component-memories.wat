;; A component of eight parts, each with 16 MiB: their sum is bounded.
(component
  (core module $part (memory (export "memory") 256))
  (core instance (instantiate $part))
  (core instance (instantiate $part))
  (core instance (instantiate $part))
  (core instance (instantiate $part))
  (core instance (instantiate $part))
  (core instance (instantiate $part))
  (core instance (instantiate $part))
  (core instance (instantiate $part))
  (core module $main
    (func (export "run") (result i32) (i32.const 0)))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
