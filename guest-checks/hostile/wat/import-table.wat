;; A table and a global that the host is to bring along.
(module
  (import "env" "table" (table 1 funcref))
  (import "env" "stack" (global (mut i32)))
  (memory (export "memory") 1)
  (func (export "_start")))
