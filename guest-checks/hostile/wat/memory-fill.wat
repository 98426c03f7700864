;; Filling 32 MiB by one instruction, for ever.
(module
  (memory (export "memory") 512)
  (func (export "_start")
    (loop $again
      (memory.fill (i32.const 0) (i32.const 90) (i32.const 33554432))
      (br $again))))
