;; A memory that the host is to bring along.
(module
  (import "env" "memory" (memory 1))
  (func (export "_start")))
