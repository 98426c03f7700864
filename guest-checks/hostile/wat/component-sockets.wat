;; A component that asks for a socket.
(component
  (import "wasi:sockets/tcp@0.2.0" (instance
    (export "tcp-socket" (type (sub resource)))))
  (core module $main
    (func (export "run") (result i32) (i32.const 0)))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
