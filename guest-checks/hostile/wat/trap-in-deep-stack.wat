;; A trap below a hundred thousand frames, each with a long name.
(module
  (memory (export "memory") 1)
  (func $a_name_that_is_repeated_in_every_line_of_a_backtrace_and_so_makes_it_long
    (param $depth i32) (result i32)
    (if (i32.eqz (local.get $depth)) (then unreachable))
    (i32.add (local.get $depth)
      (call $a_name_that_is_repeated_in_every_line_of_a_backtrace_and_so_makes_it_long
        (i32.sub (local.get $depth) (i32.const 1)))))
  (func (export "_start")
    (drop (call $a_name_that_is_repeated_in_every_line_of_a_backtrace_and_so_makes_it_long
      (i32.const 100000)))))
