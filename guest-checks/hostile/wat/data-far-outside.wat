;; A data segment at the last address, and one that would wrap.
(module
  (memory (export "memory") 1)
  (data (i32.const -1) "x")
  (data (i32.const -4) "wraps around")
  (func (export "_start")))
