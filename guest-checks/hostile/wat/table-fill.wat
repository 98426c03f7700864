;; Filling a table by one instruction, for ever.
(module
  (memory (export "memory") 1)
  (table $t 8192 funcref)
  (func (export "_start")
    (loop $again
      (table.fill $t (i32.const 0) (ref.null func) (i32.const 8192))
      (br $again))))
