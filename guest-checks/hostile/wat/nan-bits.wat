;; Numbers that are none, made in ways in which processors differ; the bits must be the same.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (func $quiet (param f64)
    (if (i64.ne (i64.reinterpret_f64 (local.get 0)) (i64.const 0x7ff8000000000000))
      (then unreachable)))
  (func (export "_start") (local $zero f64) (local $infinity f64) (local $payload f64)
    (local.set $infinity (f64.div (f64.const 1) (local.get $zero)))
    (local.set $payload (f64.reinterpret_i64 (i64.const 0xfff4000000000dad)))
    (call $quiet (f64.div (local.get $zero) (local.get $zero)))
    (call $quiet (f64.sub (local.get $infinity) (local.get $infinity)))
    (call $quiet (f64.mul (local.get $infinity) (local.get $zero)))
    (call $quiet (f64.sqrt (f64.const -1)))
    (call $quiet (f64.add (local.get $payload) (f64.const 1)))
    (call $quiet (f64.min (local.get $payload) (f64.const 1)))
    (call $quiet (f64.promote_f32 (f32.demote_f64 (local.get $payload))))
    (call $proc_exit (i32.const 7))))
