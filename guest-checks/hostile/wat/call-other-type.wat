;; A call through a table with another type.
(module
  (memory (export "memory") 1)
  (table funcref (elem $f))
  (func $f (param i64))
  (func (export "_start") (call_indirect (i32.const 0))))
