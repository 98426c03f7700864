;; Growing memory and table by nothing, for ever.
(module
  (memory (export "memory") 1)
  (table $t 1 funcref)
  (func (export "_start")
    (loop $again
      (drop (memory.grow (i32.const 0)))
      (drop (table.grow $t (ref.null func) (i32.const 0)))
      (br $again))))
