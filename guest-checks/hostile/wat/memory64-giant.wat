;; A memory with 64-bit addresses that declares 256 TiB.
(module
  (memory (export "memory") i64 0x100000000)
  (func (export "_start")))
