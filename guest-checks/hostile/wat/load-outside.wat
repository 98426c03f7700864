;; A load at the last address with the largest offset.
(module
  (memory (export "memory") 1)
  (func (export "_start") (local i32)
    (drop (i64.load offset=4294967295 (i32.sub (local.get 0) (i32.const 1))))))
