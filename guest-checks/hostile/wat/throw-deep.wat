;; An exception thrown below many frames, caught above them, for ever.
(module
  (memory (export "memory") 1)
  (tag $t)
  (func $down (param $depth i32)
    (if (i32.eqz (local.get $depth)) (then (throw $t)))
    (call $down (i32.sub (local.get $depth) (i32.const 1))))
  (func (export "_start")
    (loop $again
      (block $caught
        (try_table (catch $t $caught) (call $down (i32.const 50000))))
      (br $again))))
