;; Growing a table by four billion elements, which costs what it asks for.
(module
  (memory (export "memory") 1)
  (table $t 1 funcref)
  (func (export "_start")
    (drop (table.grow $t (ref.null func) (i32.const -1)))))
