;; The memory of the host by a name of WASI.
(module
  (import "wasi_snapshot_preview1" "memory" (memory 1))
  (func (export "_start")))
