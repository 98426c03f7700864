;; No entry.
(module
  (memory (export "memory") 1))
