;; A conversion of a number that is none.
(module
  (memory (export "memory") 1)
  (func (export "_start") (local i32)
    (drop (i32.trunc_f64_s (f64.div (f64.convert_i32_s (local.get 0)) (f64.convert_i32_s (local.get 0)))))))
