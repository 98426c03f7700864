;; An import whose name is terminal escapes and lines.
(module
  (import "\1b[2J\1b]0;owned\07" "line\0aprobity: passed\0d\00\e2\80\ae" (func))
  (memory (export "memory") 1)
  (func (export "_start")))
