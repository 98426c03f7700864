;; An instruction whose result depends on the processor.
(module
  (memory (export "memory") 1)
  (func (export "_start")
    (v128.store (i32.const 0)
      (f32x4.relaxed_madd (v128.const f32x4 1 2 3 4) (v128.const f32x4 1 2 3 4)
        (v128.const f32x4 1 2 3 4)))))
