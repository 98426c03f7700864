;; Growing the memory by a page until that is refused, and then on.
(module
  (memory (export "memory") 1)
  (func (export "_start")
    (loop $again
      (drop (memory.grow (i32.const 1)))
      (i32.store8 (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1)) (i32.const 1))
      (br $again))))
