;; A start function that exits before the entry can run.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (func $leave (call $proc_exit (i32.const 7)))
  (start $leave)
  (func (export "_start") unreachable))
