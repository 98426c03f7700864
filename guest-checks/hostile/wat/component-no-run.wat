;; A component without an entry.
(component
  (core module (func)))
