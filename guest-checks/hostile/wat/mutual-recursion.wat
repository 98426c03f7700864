;; Two functions that call each other through a table without end.
(module
  (memory (export "memory") 1)
  (type $step (func (param i32) (result i32)))
  (table funcref (elem $ping $pong))
  (func $ping (type $step)
    (i32.add (i32.const 1) (call_indirect (type $step) (local.get 0) (i32.const 1))))
  (func $pong (type $step)
    (i32.add (i32.const 2) (call_indirect (type $step) (local.get 0) (i32.const 0))))
  (func (export "_start") (drop (call $ping (i32.const 0)))))
