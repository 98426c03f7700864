;; A data segment past the end of the memory.
(module
  (memory (export "memory") 1)
  (data (i32.const 65535) "two bytes")
  (func (export "_start")))
