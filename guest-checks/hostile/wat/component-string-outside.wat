;; A component that hands on a string that lies outside of its memory.
(component
  (component $inner
    (core module $sink
      (memory (export "memory") 1)
      (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
      (func (export "take") (param i32 i32)))
    (core instance $sink (instantiate $sink))
    (func (export "take") (param "text" string)
      (canon lift (core func $sink "take") (memory (core memory $sink "memory"))
        (realloc (core func $sink "realloc")))))
  (instance $inner (instantiate $inner))
  (core module $store (memory (export "memory") 1))
  (core instance $store (instantiate $store))
  (core func $take (canon lower (func $inner "take") (memory (core memory $store "memory"))))
  (core module $main
    (import "host" "take" (func $take (param i32 i32)))
    (func (export "run") (result i32)
      (call $take (i32.const 65530) (i32.const 0x7fffffff))
      (i32.const 0)))
  (core instance $main (instantiate $main
    (with "host" (instance (export "take" (func $take))))))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
