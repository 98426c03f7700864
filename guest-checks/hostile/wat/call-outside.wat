;; A call through a place that the table does not have.
(module
  (memory (export "memory") 1)
  (table 1 funcref)
  (func (export "_start") (call_indirect (i32.const -1))))
