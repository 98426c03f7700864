;; Pages of one byte.
(module
  (memory (export "memory") 1 (pagesize 1))
  (func (export "_start")))
