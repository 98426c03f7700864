;; A component that asks for 4 GiB of randomness in one call.
(component
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
  (core module $store
    (memory (export "memory") 1)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable))
  (core instance $store (instantiate $store))
  (core func $bytes (canon lower (func $random "get-random-bytes")
    (memory (core memory $store "memory")) (realloc (core func $store "realloc"))))
  (core module $main
    (import "host" "bytes" (func $bytes (param i64 i32)))
    (func (export "run") (result i32)
      (call $bytes (i64.const 4294967296) (i32.const 0))
      (i32.const 0)))
  (core instance $main (instantiate $main
    (with "host" (instance (export "bytes" (func $bytes))))))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
