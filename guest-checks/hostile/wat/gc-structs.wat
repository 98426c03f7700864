;; A type of the garbage collector.
(module
  (memory (export "memory") 1)
  (type $s (struct (field i64)))
  (func (export "_start") (drop (struct.new $s (i64.const 1)))))
