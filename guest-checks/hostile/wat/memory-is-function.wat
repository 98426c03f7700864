;; An export called `memory` that is a function.
(module
  (import "wasi_snapshot_preview1" "random_get"
    (func $random_get (param i32 i32) (result i32)))
  (memory 1)
  (func (export "memory"))
  (func (export "_start") (drop (call $random_get (i32.const 0) (i32.const 8)))))
