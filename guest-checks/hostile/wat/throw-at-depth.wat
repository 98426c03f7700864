;; An exception thrown and caught at the end of a deep stack, for ever.
(module
  (memory (export "memory") 1)
  (tag $t)
  (func $down (param $depth i32)
    (if (local.get $depth)
      (then (call $down (i32.sub (local.get $depth) (i32.const 1))))
      (else
        (loop $again
          (block $caught
            (try_table (catch $t $caught) (throw $t)))
          (br $again)))))
  (func (export "_start") (call $down (i32.const 20000))))
