;; Growing two tables in turn, whose sum is bounded.
(module
  (memory (export "memory") 1)
  (table $a 0 funcref)
  (table $b 0 externref)
  (func (export "_start")
    (loop $again
      (drop (table.grow $a (ref.null func) (i32.const 100)))
      (drop (table.grow $b (ref.null extern) (i32.const 100)))
      (br $again))))
