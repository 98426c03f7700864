;; A component of three parts that grow their memories in turn.
(component
  (core module $part (memory (export "memory") 1))
  (core instance $part (instantiate $part))
  (core module $main
    (import "a" "memory" (memory $a 1))
    (func (export "run") (result i32)
      (loop $again
        (br_if $again (i32.ne (memory.grow $a (i32.const 16)) (i32.const -1))))
      (i32.const 0)))
  (core instance $main (instantiate $main
    (with "a" (instance $part))))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
