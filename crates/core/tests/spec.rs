//! Specs as files: `tests/spec/NAME.toml` or `.json` beside `NAME.expected`.
//!
//! `NAME.expected` holds what comes of reading it: the resolved spec as JSON, or the errors
//! one a line. To add a case, write the spec and run with `PROBITY_BLESS=1`; then read the
//! file that this writes. The same switch re-blesses the rest.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::fs;
use std::path::Path;

use probity_core::spec::{CheckKind, Expectation, MAX_ERRORS, Spec};
use proptest::prelude::*;

fn resolve(path: &str) -> Result<Vec<u8>, String> {
    match path {
        "ids.json" => Ok(br#"["tests/b.py::test_1", "tests/b.py::test_2[a b]"]"#.to_vec()),
        "more/ids.txt" => Ok(b"tests/c.py::test_y\ntests/a.py::test_slow\n".to_vec()),
        "broken.json" => Ok(b"[1".to_vec()),
        _ => Err("no such file".to_owned()),
    }
}

fn outcome(file: &str, text: &str) -> String {
    match Spec::parse(file, text, &resolve) {
        Ok(spec) => serde_json::to_string_pretty(&spec).unwrap() + "\n",
        Err(errors) => format!("{errors}\n"),
    }
}

#[test]
fn every_spec_reads_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec");
    let bless = std::env::var_os("PROBITY_BLESS").is_some();
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".expected"))
        .collect();
    names.sort();
    assert!(names.len() > 8, "the cases are gone");
    let mut wrong = Vec::new();
    for name in names {
        let found = outcome(&name, &fs::read_to_string(folder.join(&name)).unwrap());
        let stem = name.rsplit_once('.').unwrap().0;
        let expected = folder.join(format!("{stem}.expected"));
        if bless {
            fs::write(&expected, &found).unwrap();
        }
        let wanted = fs::read_to_string(&expected).unwrap_or_default();
        if found != wanted {
            wrong.push(format!(
                "--- {name}, expected:\n{wanted}--- found:\n{found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn json_and_toml_have_one_digest() {
    let toml = "version = 1\n[[check]]\nname = 'a'\nkind = 'pack'\npack = 'text'\ncheck = 'c'\nparams = { b = 1, a = [true] }\n";
    let json = r#"{"check": [{"params": {"a": [true], "b": 1}, "check": "c", "pack": "text",
        "kind": "pack", "name": "a"}], "version": 1}"#;
    let digest = |text: &str| Spec::parse("f", text, &resolve).unwrap().digest();
    assert_eq!(digest(toml), digest(json));
    assert_ne!(digest(toml), digest(&toml.replace("b = 1", "b = 2")));
    let budget = format!("{toml}budget = {{ fuel = 7 }}\n");
    assert_ne!(digest(toml), digest(&budget));
    let spelled_out = format!("{toml}budget = {{ memory = '512 MiB' }}\n");
    assert_eq!(digest(toml), digest(&spelled_out), "a default, written out");
}

#[test]
fn budgets_stack_check_over_spec_over_kind() {
    let text = "version = 1\n[budget]\nfuel = '3G'\nmemory = '128 MiB'\n\
        [[check]]\nname = 'a'\nkind = 'suite'\nrunner = 'pytest'\nexpect = 'any'\n\
        budget = { fuel = '4G' }\n";
    let spec = Spec::parse("f", text, &resolve).unwrap();
    let budget = spec.checks[0].budget;
    assert_eq!((budget.fuel.0, budget.memory.0), (4_000_000_000, 128 << 20));
    assert_eq!(budget.wall_time, probity_core::Budget::suite().wall_time);
}

#[test]
fn ids_of_all_lists_come_together() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec/full.toml"))
            .unwrap();
    let spec = Spec::parse("full.toml", &text, &resolve).unwrap();
    let suite = spec
        .checks
        .iter()
        .find_map(|check| match &check.kind {
            CheckKind::Suite(suite) => Some(suite),
            _ => None,
        })
        .unwrap();
    let expected: Vec<&str> = suite.expectation.expected().collect();
    assert_eq!(
        expected,
        [
            "tests/a.py::test_x",
            "tests/b.py::test_1",
            "tests/b.py::test_2[a b]",
            "tests/c.py::test_y"
        ]
    );
    assert!(matches!(suite.expectation, Expectation::Tests { .. }));
}

#[test]
fn everything_is_bounded() {
    let many = "[[check]]\nname = 'a'\nkind = 'file-exists'\npath = 'a'\n".repeat(1001);
    let error = Spec::parse("f", &format!("version = 1\n{many}"), &resolve).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("1001 checks; at most 1000 are read"),
        "{error}"
    );

    let errors = Spec::parse(
        "f",
        &(0..50).map(|n| format!("k{n} = 1\n")).collect::<String>(),
        &resolve,
    )
    .unwrap_err();
    assert_eq!((errors.errors.len(), errors.more), (MAX_ERRORS, 31));

    let large = format!("version = 1 #{}", "x".repeat(4 << 20));
    assert!(
        Spec::parse("f", &large, &resolve)
            .unwrap_err()
            .to_string()
            .contains("larger than")
    );

    let ids = |_: &str| {
        Ok((0..150_000)
            .map(|n| format!("t{n}\n"))
            .collect::<String>()
            .into_bytes())
    };
    let text = "version = 1\n[[check]]\nname = 'a'\nkind = 'suite'\nrunner = 'pytest'\nexpect-from = ['x', 'y']\n";
    let error = Spec::parse("f", text, &ids).unwrap_err().to_string();
    assert!(
        error.contains("f:6:21: `y`: the spec names more than 200000 test ids"),
        "{error}"
    );
}

proptest! {
    /// A spec with a hole, or with a piece twice, is read or refused with places in it.
    #[test]
    fn damaged_specs_are_read_or_refused(from in 0_usize..2000, len in 1_usize..80, twice: bool) {
        let whole = include_str!("spec/full.toml");
        let from = whole.floor_char_boundary(from.min(whole.len()));
        let to = whole.floor_char_boundary((from + len).min(whole.len()));
        let (keep, piece) = if twice { (from, &whole[from..to]) } else { (to, "") };
        let text = format!("{}{piece}{}", &whole[..from], &whole[keep..]);
        if let Err(errors) = Spec::parse("f", &text, &resolve) {
            prop_assert!(!errors.errors.is_empty());
            for error in &errors.errors {
                prop_assert!(error.line <= text.lines().count() + 1, "{error}");
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\"'=:,.#a-c0-9\\-\n ]{0,60}") {
        let _ = Spec::parse("f", &text, &resolve);
    }
}
