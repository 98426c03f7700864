;; How fast is plain computing?
;;
;; Each export takes how often to do something, and returns what came of it, so that nothing
;; can be left out:
;;   loop   steps of a xorshift generator: a tight loop without memory
;;   sieve  sieves of Eratosthenes over 64 Ki numbers: a loop over memory
;;   fib    Fibonacci numbers of 20, recursively: calls and branches
(module
  (memory 1)

  (func (export "loop") (param $count i32) (result i32)
    (local $state i32)
    (local.set $state (i32.const 1))
    (loop $again
      (local.set $state (i32.xor (local.get $state)
        (i32.shl (local.get $state) (i32.const 13))))
      (local.set $state (i32.xor (local.get $state)
        (i32.shr_u (local.get $state) (i32.const 17))))
      (local.set $state (i32.xor (local.get $state)
        (i32.shl (local.get $state) (i32.const 5))))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $again (local.get $count)))
    (local.get $state))

  ;; The primes below 65,536, of which there are 6,542.
  (func (export "sieve") (param $count i32) (result i32)
    (local $primes i32) (local $number i32) (local $multiple i32)
    (loop $again
      (memory.fill (i32.const 0) (i32.const 0) (i32.const 65536))
      (local.set $primes (i32.const 0))
      (local.set $number (i32.const 2))
      (loop $numbers
        (if (i32.eqz (i32.load8_u (local.get $number))) (then
          (local.set $primes (i32.add (local.get $primes) (i32.const 1)))
          (local.set $multiple (i32.add (local.get $number) (local.get $number)))
          (block $marked
            (loop $mark
              (br_if $marked (i32.ge_u (local.get $multiple) (i32.const 65536)))
              (i32.store8 (local.get $multiple) (i32.const 1))
              (local.set $multiple (i32.add (local.get $multiple) (local.get $number)))
              (br $mark)))))
        (local.set $number (i32.add (local.get $number) (i32.const 1)))
        (br_if $numbers (i32.lt_u (local.get $number) (i32.const 65536))))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $again (local.get $count)))
    (local.get $primes))

  (func $fib (param $n i32) (result i32)
    (if (i32.lt_u (local.get $n) (i32.const 2)) (then (return (local.get $n))))
    (i32.add
      (call $fib (i32.sub (local.get $n) (i32.const 1)))
      (call $fib (i32.sub (local.get $n) (i32.const 2)))))

  (func (export "fib") (param $count i32) (result i32)
    (local $result i32)
    (loop $again
      (local.set $result (call $fib (i32.const 20)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $again (local.get $count)))
    (local.get $result)))
