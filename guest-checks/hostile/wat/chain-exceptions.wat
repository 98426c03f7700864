;; Exceptions that each keep the one before alive.
(module
  (memory (export "memory") 1)
  (tag $t (param exnref))
  (global $last (mut exnref) (ref.null exn))
  (func (export "_start")
    (loop $again
      (global.set $last
        (block $caught (result exnref)
          (try_table (catch_all_ref $caught) (throw $t (global.get $last)))
          unreachable))
      (br $again))))
