;; A function of WASI with another type.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func (param i64) (result i64)))
  (memory (export "memory") 1)
  (func (export "_start")))
