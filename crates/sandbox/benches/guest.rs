//! Small guests, in this process and in a warm worker: the start of an instance, and a whole
//! check of a pack.

#![allow(clippy::unwrap_used, reason = "a benchmark has nobody to report to")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use probity_core::repo::File;
use probity_core::spec::{Check, CheckKind, PackCheck, PackRef};
use probity_core::verify::Outcome;
use probity_core::{Budget, Repo, RepoPath};
use probity_sandbox::fs::Mounts;
use probity_sandbox::{Conditions, Ending, Invocation, Sandbox, Trust, pack};

/// The sandboxes to compare, by name.
fn sandboxes() -> Vec<(&'static str, Sandbox)> {
    vec![
        ("in process", Sandbox::in_process(None).unwrap()),
        #[cfg(target_os = "linux")]
        ("in a worker", {
            use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
            let command = WorkerCommand::program(env!("CARGO_BIN_EXE_probity-worker"));
            Sandbox::new(
                Process::new(command, PoolSettings::default()).unwrap(),
                None,
            )
            .unwrap()
        }),
    ]
}

fn tree() -> Repo {
    let mut repo = Repo::new();
    for index in 0..20 {
        let path: RepoPath = format!("src/f{index}.txt").parse().unwrap();
        repo.insert(&path, File::regular(*b"some text\nand more\n"))
            .unwrap();
    }
    repo
}

fn guests(c: &mut Criterion) {
    let budget = Budget::check();
    let nothing =
        wat::parse_str(r#"(module (memory (export "memory") 1) (func (export "_start")))"#)
            .unwrap();
    let repo = tree();
    let wanted = PackCheck {
        pack: PackRef::BuiltIn("text".to_owned()),
        check: "final-newline".to_owned(),
        params: serde_json::from_str(r#"{"paths": ["**"]}"#).unwrap(),
    };
    let one_file = PackCheck {
        pack: PackRef::BuiltIn("text".to_owned()),
        check: "file-exists".to_owned(),
        params: serde_json::from_str(r#"{"path": "src/f1.txt"}"#).unwrap(),
    };
    let small = Check::new("file-exists", CheckKind::Pack(one_file.clone()));
    let conditions = Conditions::default();
    let check = Check::new("final-newline", CheckKind::Pack(wanted.clone()));
    for (name, sandbox) in sandboxes() {
        let module = |bytes: &[u8]| {
            let module = sandbox.module(bytes, &budget, Trust::Untrusted);
            module.unwrap().unwrap()
        };
        let nothing = module(&nothing);
        c.bench_function(&format!("a guest that does nothing, {name}"), |b| {
            b.iter(|| {
                let args = vec!["nothing".to_owned()];
                let invocation = Invocation::command(args, Mounts::default(), budget);
                let run = sandbox.run(invocation, &nothing).unwrap();
                assert_eq!(run.ending, Ending::Exited(0));
                black_box(run.fuel)
            });
        });
        let text = module(pack::built_in("text").unwrap().module);
        c.bench_function(&format!("a pack check of one file, {name}"), |b| {
            b.iter(|| {
                let report =
                    pack::run_check(&sandbox, &text, &small, &one_file, &repo, &conditions);
                assert_eq!(report.outcome, Outcome::Pass);
                black_box(report.fuel)
            });
        });
        c.bench_function(&format!("a pack check over 20 files, {name}"), |b| {
            b.iter(|| {
                let report = pack::run_check(&sandbox, &text, &check, &wanted, &repo, &conditions);
                assert_eq!(report.outcome, Outcome::Pass);
                black_box(report.fuel)
            });
        });
        // Each patch is another tree, so a worker has to be given a new image.
        c.bench_function(&format!("the same, another tree each time, {name}"), |b| {
            b.iter(|| {
                let repo = tree();
                let report = pack::run_check(&sandbox, &text, &check, &wanted, &repo, &conditions);
                assert_eq!(report.outcome, Outcome::Pass);
                black_box(report.fuel)
            });
        });
    }
}

criterion_group!(benches, guests);
criterion_main!(benches);
