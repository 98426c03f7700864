//! A pack reports the same as a core module and as a component, down to the byte; only the
//! fuel differs, since the component brings the adapter between.
//!
//! One thing is lost on the way: the `exit` that the toolchains' adapter calls knows only
//! success and failure, so a pack that breaks with 2 seems to fail with 1.

#![allow(clippy::unwrap_used, reason = "a test has nobody to report to")]

mod adapter;

use probity_core::quantity::{Fuel, WallTime};
use probity_core::repo::File;
use probity_core::spec::{Check, CheckKind, PackCheck, PackRef};
use probity_core::verify::{Cause, CheckReport, Outcome};
use probity_core::{Budget, Repo, RepoPath};
use probity_sandbox::{Conditions, Sandbox, Trust, pack};

use adapter::{Adapter, built};

/// Checks of the built-in packs with their parameters, and how each ends on the tree below.
const CHECKS: &[(&str, &str, &str, Outcome)] = &[
    (
        "text",
        "final-newline",
        r#"{"paths": ["**"]}"#,
        Outcome::Fail,
    ),
    (
        "text",
        "final-newline",
        r#"{"paths": ["src/*.rs"]}"#,
        Outcome::Pass,
    ),
    (
        "text",
        "forbid-pattern",
        r#"{"pattern": "fn main", "paths": ["src/**"]}"#,
        Outcome::Fail,
    ),
    (
        "text",
        "line-endings",
        r#"{"paths": ["**"]}"#,
        Outcome::Fail,
    ),
    (
        "hygiene",
        "todo-markers",
        r#"{"paths": ["**"]}"#,
        Outcome::Fail,
    ),
    (
        "hygiene",
        "merge-conflict-markers",
        r#"{"paths": ["**"]}"#,
        Outcome::Pass,
    ),
    (
        "hygiene",
        "file-size",
        r#"{"paths": ["**"], "max-bytes": 1000}"#,
        Outcome::Fail,
    ),
    (
        "hygiene",
        "file-size",
        r#"{"max-bytes": true}"#,
        Outcome::Error,
    ),
    ("source", "parses", r#"{"paths": ["**"]}"#, Outcome::Fail),
    ("source", "no-such-check", "{}", Outcome::Error),
];

fn tree() -> Repo {
    let mut repo = Repo::new();
    for (path, content) in [
        ("src/main.rs", "fn main() {}\n"),
        (
            "src/lib.rs",
            "// TODO: everything\npub fn f() -> u8 { 1 }\n",
        ),
        ("broken.py", "def f(:\n"),
        ("notes/deep/er/a.txt", "no newline at the end"),
        ("dos.txt", "one\r\ntwo\n"),
    ] {
        let path: RepoPath = path.parse().unwrap();
        repo.insert(&path, File::regular(content.as_bytes().to_vec()))
            .unwrap();
    }
    let path: RepoPath = "large.bin".parse().unwrap();
    repo.insert(&path, File::regular(vec![7; 100_000])).unwrap();
    repo
}

/// What of a report does not depend on the adapter.
fn comparable(report: CheckReport) -> CheckReport {
    assert!(report.fuel > Fuel(0));
    CheckReport {
        fuel: Fuel(0),
        wall_time: WallTime(0),
        ..report
    }
}

#[test]
fn a_pack_reports_the_same_through_both_adapters() {
    let sandbox = Sandbox::in_process(None).unwrap();
    let conditions = Conditions::default();
    let repo = tree();
    for pack in ["text", "hygiene", "source"] {
        let core = built(pack);
        let modules = Adapter::BOTH.map(|adapter| {
            let guest = adapter.guest(&core);
            let module = sandbox.module(&guest, &Budget::check(), Trust::Untrusted);
            module.unwrap().unwrap()
        });
        let [listed, also] = modules
            .each_ref()
            .map(|it| pack::list(&sandbox, it).unwrap());
        assert_eq!(listed, also);
        for (_, name, params, outcome) in CHECKS.iter().filter(|row| row.0 == pack) {
            let wanted = PackCheck {
                pack: PackRef::BuiltIn(pack.to_owned()),
                check: (*name).to_owned(),
                params: serde_json::from_str(params).unwrap(),
            };
            let check = Check::new(*name, CheckKind::Pack(wanted.clone()));
            let [first, second] = modules.each_ref().map(|module| {
                let run = || pack::run_check(&sandbox, module, &check, &wanted, &repo, &conditions);
                let (once, again) = (run(), run());
                assert_eq!(once.fuel, again.fuel, "{pack} {name}");
                comparable(once)
            });
            assert_eq!(first.outcome, *outcome, "{pack} {name}: {first:?}");
            if first.outcome == Outcome::Error {
                assert!(matches!(first.cause, Some(Cause::Broke { .. })));
                assert_eq!(second.outcome, Outcome::Fail, "{pack} {name}");
                assert_eq!(first.stderr, second.stderr, "{pack} {name}");
            } else {
                assert_eq!(first, second, "{pack} {name}");
            }
        }
    }
}
