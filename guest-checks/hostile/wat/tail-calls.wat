;; A loop of tail calls, which no stack ends.
(module
  (memory (export "memory") 1)
  (func $f (return_call $f))
  (func (export "_start") (call $f)))
