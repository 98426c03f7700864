;; Copying 16 MiB over itself by one instruction, for ever.
(module
  (memory (export "memory") 512)
  (func (export "_start")
    (loop $again
      (memory.copy (i32.const 1) (i32.const 0) (i32.const 16777216))
      (br $again))))
