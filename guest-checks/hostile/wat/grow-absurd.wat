;; Growing by more than there is.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (table $t 1 funcref)
  (func (export "_start")
    (if (i32.ne (memory.grow (i32.const -1)) (i32.const -1)) (then unreachable))
    (if (i32.ne (memory.grow (i32.const 65536)) (i32.const -1)) (then unreachable))
    (if (i32.ne (table.grow $t (ref.null func) (i32.const 20000)) (i32.const -1))
      (then unreachable))
    (if (i32.ne (memory.size) (i32.const 1)) (then unreachable))
    (call $proc_exit (i32.const 7))))
