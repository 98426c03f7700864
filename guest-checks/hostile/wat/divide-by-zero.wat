;; A division by zero.
(module
  (memory (export "memory") 1)
  (func (export "_start") (local i32)
    (drop (i32.div_u (i32.const 1) (local.get 0)))))
