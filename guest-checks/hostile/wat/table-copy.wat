;; Copying a table over itself by one instruction, for ever.
(module
  (memory (export "memory") 1)
  (table $t 8192 funcref)
  (func (export "_start")
    (loop $again
      (table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 8191))
      (br $again))))
