;; Exceptions thrown and caught for ever.
(module
  (memory (export "memory") 1)
  (tag $t (param i64))
  (func (export "_start")
    (loop $again
      (block $caught (result i64)
        (try_table (catch $t $caught) (throw $t (i64.const 1)))
        unreachable)
      drop
      (br $again))))
