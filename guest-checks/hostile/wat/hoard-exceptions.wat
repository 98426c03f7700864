;; Exceptions that are kept, each with eight values.
(module
  (memory (export "memory") 1)
  (tag $t (param i64 i64 i64 i64 i64 i64 i64 i64))
  (table $kept 8000 exnref)
  (global $next (mut i32) (i32.const 0))
  (func (export "_start")
    (loop $again
      (table.set $kept (i32.rem_u (global.get $next) (i32.const 8000))
        (block $caught (result exnref)
          (try_table (catch_all_ref $caught)
            (throw $t (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)
              (i64.const 5) (i64.const 6) (i64.const 7) (i64.const 8)))
          unreachable))
      (global.set $next (i32.add (global.get $next) (i32.const 1)))
      (br $again))))
