;; How fast are calls to the filesystem from inside a guest?
;;
;; `calls KIND COUNT` makes COUNT calls of one kind below the first granted folder:
;;   o  path_open and fd_close of src/file.txt
;;   s  path_filestat_get of src/file.txt
;;   r  fd_pread of its first 4,096 bytes
;;   d  fd_readdir of the whole of many/, a hundred entries
;; It traps if a call fails or yields less than it should.
(module
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_get"
    (func $path_filestat_get (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pread"
    (func $fd_pread (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_readdir"
    (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  ;; 0: results, 64: stat, 256: a vector, 512: argv, 1024: texts of argv,
  ;; 4096: names, 8192: the buffer of 16 KiB
  (data (i32.const 256) "\00\20\00\00\00\10\00\00")
  (data (i32.const 4096) "src/file.txt")
  (data (i32.const 4112) "many")

  (func $check (param $errno i32)
    (if (local.get $errno) (then unreachable)))

  ;; Opens with the rights to read, seek, tell, list and stat.
  (func $open (param $name i32) (param $length i32) (result i32)
    (call $check (call $path_open
      (i32.const 3) (i32.const 1) (local.get $name) (local.get $length) (i32.const 0)
      (i64.const 2113574) (i64.const 2113574) (i32.const 0) (i32.const 0)))
    (i32.load (i32.const 0)))

  ;; The decimal number at $text.
  (func $number (param $text i32) (result i32)
    (local $sum i32) (local $digit i32)
    (loop $next
      (local.set $digit (i32.sub (i32.load8_u (local.get $text)) (i32.const 48)))
      (if (i32.lt_u (local.get $digit) (i32.const 10)) (then
        (local.set $sum
          (i32.add (i32.mul (local.get $sum) (i32.const 10)) (local.get $digit)))
        (local.set $text (i32.add (local.get $text) (i32.const 1)))
        (br $next))))
    (local.get $sum))

  (func (export "_start")
    (local $kind i32) (local $count i32) (local $fd i32)
    (call $check (call $args_get (i32.const 512) (i32.const 1024)))
    (local.set $kind (i32.load8_u (i32.load (i32.const 516))))
    (local.set $count (call $number (i32.load (i32.const 520))))
    (if (i32.eq (local.get $kind) (i32.const 114)) ;; r
      (then (local.set $fd (call $open (i32.const 4096) (i32.const 12)))))
    (if (i32.eq (local.get $kind) (i32.const 100)) ;; d
      (then (local.set $fd (call $open (i32.const 4112) (i32.const 4)))))
    (block $end
      (loop $again
        (br_if $end (i32.eqz (local.get $count)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (if (i32.eq (local.get $kind) (i32.const 111)) (then ;; o
          (call $check (call $fd_close (call $open (i32.const 4096) (i32.const 12))))
          (br $again)))
        (if (i32.eq (local.get $kind) (i32.const 115)) (then ;; s
          (call $check (call $path_filestat_get
            (i32.const 3) (i32.const 1) (i32.const 4096) (i32.const 12) (i32.const 64)))
          (br $again)))
        (if (i32.eq (local.get $kind) (i32.const 114)) (then ;; r
          (call $check (call $fd_pread
            (local.get $fd) (i32.const 256) (i32.const 1) (i64.const 0) (i32.const 0)))
          (call $check (i32.ne (i32.load (i32.const 0)) (i32.const 4096)))
          (br $again)))
        (if (i32.eq (local.get $kind) (i32.const 100)) (then ;; d
          (call $check (call $fd_readdir
            (local.get $fd) (i32.const 8192) (i32.const 16384) (i64.const 0) (i32.const 0)))
          ;; A hundred entries and the two dots, none of them cut.
          (call $check (i32.lt_u (i32.load (i32.const 0)) (i32.const 3700)))
          (call $check (i32.ge_u (i32.load (i32.const 0)) (i32.const 16384)))
          (br $again)))
        unreachable))))
