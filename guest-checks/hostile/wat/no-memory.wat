;; A call of WASI without a memory to pass data through.
(module
  (import "wasi_snapshot_preview1" "sched_yield"
    (func $sched_yield (result i32)))
  (func (export "_start") (drop (call $sched_yield))))
