;; An entry that is no function.
(module
  (memory (export "_start") 1))
