;; Arithmetic of 128 bits.
(module
  (memory (export "memory") 1)
  (func (export "_start")
    (call $two (i64.add128 (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4))))
  (func $two (param i64 i64)))
