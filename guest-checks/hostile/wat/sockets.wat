;; Every call on sockets, on every descriptor there is.
(module
  (import "wasi_snapshot_preview1" "proc_exit"
    (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "sock_accept"
    (func $sock_accept (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_recv"
    (func $sock_recv (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_send"
    (func $sock_send (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_shutdown"
    (func $sock_shutdown (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  ;; Exits with 1000 times the attempt plus the errno, if it is another than expected.
  (func $want (param $attempt i32) (param $errno i32) (param $got i32)
    (if (i32.ne (local.get $errno) (local.get $got))
      (then (call $proc_exit
        (i32.add (i32.mul (local.get $attempt) (i32.const 1000)) (local.get $got))))))
  (func (export "_start")
    ;; accept
    (call $want (i32.const 100) (i32.const 57)
      (call $sock_accept (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; receive
    (call $want (i32.const 101) (i32.const 57)
      (call $sock_recv (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)
        (i32.const 68)))
    ;; send
    (call $want (i32.const 102) (i32.const 57)
      (call $sock_send (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; shut down
    (call $want (i32.const 103) (i32.const 57)
      (call $sock_shutdown (i32.const 0) (i32.const 3)))
    ;; accept
    (call $want (i32.const 104) (i32.const 57)
      (call $sock_accept (i32.const 1) (i32.const 0) (i32.const 64)))
    ;; receive
    (call $want (i32.const 105) (i32.const 57)
      (call $sock_recv (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)
        (i32.const 68)))
    ;; send
    (call $want (i32.const 106) (i32.const 57)
      (call $sock_send (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; shut down
    (call $want (i32.const 107) (i32.const 57)
      (call $sock_shutdown (i32.const 1) (i32.const 3)))
    ;; accept
    (call $want (i32.const 108) (i32.const 57)
      (call $sock_accept (i32.const 2) (i32.const 0) (i32.const 64)))
    ;; receive
    (call $want (i32.const 109) (i32.const 57)
      (call $sock_recv (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)
        (i32.const 68)))
    ;; send
    (call $want (i32.const 110) (i32.const 57)
      (call $sock_send (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; shut down
    (call $want (i32.const 111) (i32.const 57)
      (call $sock_shutdown (i32.const 2) (i32.const 3)))
    ;; accept
    (call $want (i32.const 112) (i32.const 57)
      (call $sock_accept (i32.const 3) (i32.const 0) (i32.const 64)))
    ;; receive
    (call $want (i32.const 113) (i32.const 57)
      (call $sock_recv (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)
        (i32.const 68)))
    ;; send
    (call $want (i32.const 114) (i32.const 57)
      (call $sock_send (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; shut down
    (call $want (i32.const 115) (i32.const 57)
      (call $sock_shutdown (i32.const 3) (i32.const 3)))
    ;; accept
    (call $want (i32.const 116) (i32.const 57)
      (call $sock_accept (i32.const 4) (i32.const 0) (i32.const 64)))
    ;; receive
    (call $want (i32.const 117) (i32.const 57)
      (call $sock_recv (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)
        (i32.const 68)))
    ;; send
    (call $want (i32.const 118) (i32.const 57)
      (call $sock_send (i32.const 4) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; shut down
    (call $want (i32.const 119) (i32.const 57)
      (call $sock_shutdown (i32.const 4) (i32.const 3)))
    ;; accept
    (call $want (i32.const 120) (i32.const 8)
      (call $sock_accept (i32.const 5) (i32.const 0) (i32.const 64)))
    ;; receive
    (call $want (i32.const 121) (i32.const 8)
      (call $sock_recv (i32.const 5) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)
        (i32.const 68)))
    ;; send
    (call $want (i32.const 122) (i32.const 8)
      (call $sock_send (i32.const 5) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; shut down
    (call $want (i32.const 123) (i32.const 8)
      (call $sock_shutdown (i32.const 5) (i32.const 3)))
    ;; accept
    (call $want (i32.const 124) (i32.const 8)
      (call $sock_accept (i32.const 99) (i32.const 0) (i32.const 64)))
    ;; receive
    (call $want (i32.const 125) (i32.const 8)
      (call $sock_recv (i32.const 99) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)
        (i32.const 68)))
    ;; send
    (call $want (i32.const 126) (i32.const 8)
      (call $sock_send (i32.const 99) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; shut down
    (call $want (i32.const 127) (i32.const 8)
      (call $sock_shutdown (i32.const 99) (i32.const 3)))
    ;; accept
    (call $want (i32.const 128) (i32.const 8)
      (call $sock_accept (i32.const -1) (i32.const 0) (i32.const 64)))
    ;; receive
    (call $want (i32.const 129) (i32.const 8)
      (call $sock_recv (i32.const -1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)
        (i32.const 68)))
    ;; send
    (call $want (i32.const 130) (i32.const 8)
      (call $sock_send (i32.const -1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 64)))
    ;; shut down
    (call $want (i32.const 131) (i32.const 8)
      (call $sock_shutdown (i32.const -1) (i32.const 3)))
    (call $proc_exit (i32.const 7))))
