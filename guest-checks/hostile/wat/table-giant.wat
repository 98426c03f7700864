;; A table with more elements at the start than allowed.
(module
  (memory (export "memory") 1)
  (table 4294967295 funcref)
  (func (export "_start")))
