;; A component that asks to send a request.
(component
  (import "wasi:http/outgoing-handler@0.2.0" (instance
    (export "handle" (func (param "request" u32) (result u32)))))
  (core module $main
    (func (export "run") (result i32) (i32.const 0)))
  (core instance $main (instantiate $main))
  (func $run (result (result)) (canon lift (core func $main "run")))
  (instance $command (export "run" (func $run)))
  (export "wasi:cli/run@0.2.0" (instance $command)))
