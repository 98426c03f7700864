;; A start function that traps.
(module
  (memory (export "memory") 1)
  (func $fail unreachable)
  (start $fail)
  (func (export "_start")))
