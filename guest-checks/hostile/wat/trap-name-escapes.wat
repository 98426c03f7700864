;; A trap in a function whose name is terminal escapes and lines.
(module
  (memory (export "memory") 1)
  (func $"\1b[2J\1b]0;owned\07\nprobity: passed\r" unreachable)
  (func (export "_start") (call $"\1b[2J\1b]0;owned\07\nprobity: passed\r")))
