;; A memory that starts with all the 4 GiB there are.
(module
  (memory (export "memory") 65536)
  (func (export "_start")))
