//! scratch
use probity_sandbox::*;
fn main() {
    let engine = Engine::new(None).unwrap();
    let bytes = wat::parse_str(r#"(module (import "host" "call" (func $c (param i32 i32 i32 i32) (result i32))) (memory (export "memory") 1) (tag $t (param i32)) (func (export "run") (result i32) (block $h (result i32) (try_table (catch $t $h) (throw $t (i32.const 42))) (i32.const 7)) ))"#).unwrap();
    let m = engine.module(&bytes, 1 << 20).unwrap().unwrap();
    let budget = probity_core::Budget::suite();
    let fs = fs::Filesystem::new(fs::Quota::from(&budget), 0);
    let mut inv = Invocation::command(vec![], fs, budget);
    inv.entry = Entry::Run;
    println!("{:?}", inv.run(&engine, &m).unwrap().ending);
}
