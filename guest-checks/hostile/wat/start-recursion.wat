;; A start function that recurses without end.
(module
  (memory (export "memory") 1)
  (func $down (param i64) (result i64)
    (i64.add (local.get 0) (call $down (i64.add (local.get 0) (i64.const 1)))))
  (func $start (drop (call $down (i64.const 0))))
  (start $start)
  (func (export "_start")))
