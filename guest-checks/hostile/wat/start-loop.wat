;; A start function that never returns: bounds must be armed before instantiation.
(module
  (memory (export "memory") 1)
  (func $spin (loop $again (br $again)))
  (start $spin)
  (func (export "_start")))
