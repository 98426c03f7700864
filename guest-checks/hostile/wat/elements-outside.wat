;; An element segment past the end of the table.
(module
  (memory (export "memory") 1)
  (table 1 funcref)
  (func $f)
  (elem (i32.const 1) $f)
  (func (export "_start")))
