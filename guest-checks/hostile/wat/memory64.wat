;; A memory with 64-bit addresses.
(module
  (memory (export "memory") i64 1)
  (func (export "_start")))
