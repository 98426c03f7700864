;; Tables that are within the bound one by one only.
(module
  (memory (export "memory") 1)
  (table 4000 funcref)
  (table 4000 funcref)
  (table 4000 funcref)
  (table 4000 funcref)
  (table 4000 funcref)
  (table 4000 funcref)
  (func (export "_start")))
