;; A division whose result does not fit.
(module
  (memory (export "memory") 1)
  (func (export "_start") (local i32)
    (drop (i32.div_s (i32.const 0x80000000) (i32.sub (local.get 0) (i32.const 1))))))
