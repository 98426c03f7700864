;; A shared memory, and waiting on it.
(module
  (memory (export "memory") 1 1 shared)
  (func (export "_start")
    (drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1)))))
