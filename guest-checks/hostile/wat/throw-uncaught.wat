;; An exception that nothing catches.
(module
  (memory (export "memory") 1)
  (tag $t (param i64))
  (func (export "_start") (throw $t (i64.const 1))))
