;; Listing a folder from its start with no room, for ever.
(module
  (import "wasi_snapshot_preview1" "fd_readdir"
    (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (loop $again
      (drop (call $fd_readdir (i32.const 3) (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 8)))
      (br $again))))
