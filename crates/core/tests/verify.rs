//! Running checks: the static kinds, what breaks, the verdict, and its document.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeSet;

use probity_core::Repo;
use probity_core::budget::{Limit, LimitHit};
use probity_core::patch::{Format, parse, plan, render_diff};
use probity_core::quantity::{ByteSize, Fuel, WallTime};
use probity_core::repo::{File, FileMode};
use probity_core::spec::{Check, CheckKind, Predicate, Spec};
use probity_core::verify::{
    Assurance, Captured, Cause, CheckReport, ConditionsSummary, Event, Executor, Finding,
    NoExecutor, Observer, Outcome, PatchSummary, SpecSource, Status, SuiteEnd, SuiteProgress,
    SuiteRecord, TestOutcome, Verdict, VerdictDocument, VerifyInput, judge_suite, verify,
};

fn repo(files: &[(&str, &str)]) -> Repo {
    let mut repo = Repo::new();
    for (path, text) in files {
        repo.insert(&path.parse().unwrap(), File::regular(text.as_bytes()))
            .unwrap();
    }
    repo
}

fn spec(checks: &str) -> Spec {
    let text = format!("version = 1\n{checks}");
    Spec::parse("probity.toml", &text, &|_| Err("no files".into()))
        .unwrap_or_else(|errors| panic!("{errors}"))
}

fn one(check: &str) -> Spec {
    spec(&format!("[[check]]\nname = 'it'\n{check}\n"))
}

fn predicate(holds: impl Fn(&Repo) -> Result<bool, String> + Send + Sync + 'static) -> Spec {
    let mut spec = Spec::new("");
    spec.checks.push(Check::new(
        "it",
        CheckKind::Predicate(Predicate::new(holds)),
    ));
    spec
}

fn judge(spec: &Spec, base: Option<&Repo>, repo: &Repo) -> Verdict {
    verify(
        spec,
        VerifyInput { repo, base },
        &mut NoExecutor,
        &mut |_| {},
    )
}

/// Outcome and message of a spec's only check.
fn result(spec: &Spec, repo: &Repo) -> (Outcome, String) {
    let verdict = judge(spec, None, repo);
    let report = &verdict.checks()[0];
    (report.outcome, report.message.clone())
}

#[test]
fn file_exists_wants_files() {
    let mut tree = repo(&[("a.txt", ""), ("d/b.txt", "")]);
    tree.insert(
        &"link".parse().unwrap(),
        File::new(*b"a.txt", FileMode::Symlink),
    )
    .unwrap();
    for (paths, wanted, message) in [
        ("['a.txt']", Outcome::Pass, "`a.txt` exists"),
        ("['a.txt', 'd/b.txt']", Outcome::Pass, "all 2 files exist"),
        ("['gone']", Outcome::Fail, "`gone` does not exist"),
        ("['d']", Outcome::Fail, "`d` is a folder, not a file"),
        (
            "['link']",
            Outcome::Fail,
            "`link` is a symbolic link, not a file",
        ),
        (
            "['gone', 'd', 'a.txt']",
            Outcome::Fail,
            "2 of 3 files do not exist",
        ),
    ] {
        let spec = one(&format!("kind = 'file-exists'\npaths = {paths}"));
        assert_eq!(
            result(&spec, &tree),
            (wanted, message.to_owned()),
            "{paths}"
        );
    }
}

#[test]
fn file_contains_counts_and_points_at_lines() {
    let tree = repo(&[("a", "x\nfoo foo\n\nfoo\n")]);
    for (keys, wanted, message) in [
        ("text = 'foo'", Outcome::Pass, "`a` contains `foo`"),
        (
            "text = 'foo'\ncount = 3",
            Outcome::Pass,
            "`a` contains `foo` 3 times",
        ),
        (
            "text = 'foo'\ncount = 2",
            Outcome::Fail,
            "`a` contains `foo` 3 times, not 2",
        ),
        (
            "text = 'foo'\ncount = 0",
            Outcome::Fail,
            "`a` contains `foo`, which it must not",
        ),
        ("text = 'f.o'", Outcome::Fail, "`a` does not contain `f.o`"),
        (
            "pattern = '^f.o$'",
            Outcome::Pass,
            "`a` contains the pattern `^f.o$`",
        ),
    ] {
        let spec = one(&format!("kind = 'file-contains'\npath = 'a'\n{keys}"));
        assert_eq!(result(&spec, &tree), (wanted, message.to_owned()), "{keys}");
    }
    let spec = one("kind = 'file-contains'\npath = 'a'\ntext = 'foo'\ncount = 0");
    let verdict = judge(&spec, None, &tree);
    let lines: Vec<_> = verdict.checks()[0]
        .findings
        .iter()
        .map(|found| found.line)
        .collect();
    assert_eq!(lines, [Some(2), Some(4)]);
    let spec = one("kind = 'file-contains'\npath = 'gone'\ntext = 'foo'\ncount = 0");
    assert_eq!(
        result(&spec, &tree),
        (Outcome::Fail, "`gone` does not exist".to_owned())
    );
}

#[test]
fn diff_judges_what_was_changed() {
    let base = repo(&[("a", "1\n2\n3\n"), ("b", "old\n"), ("same", "TODO \n")]);
    let changed = repo(&[
        ("a", "1\n2 \n3\nTODO\r\n"),
        ("c", "new\t"),
        ("same", "TODO \n"),
    ]);
    for (keys, message) in [
        ("max-files = 3", None),
        ("max-files = 2", Some("3 files are changed, allowed are 2")),
        ("max-changed-lines = 5", None),
        (
            "max-changed-lines = 4",
            Some("5 lines are changed, allowed are 4"),
        ),
        ("forbid-added = ['old']", None),
        (
            "forbid-added = ['TODO']",
            Some("an added line matches the forbidden pattern `TODO`"),
        ),
    ] {
        let spec = one(&format!("kind = 'diff'\n{keys}"));
        let verdict = judge(&spec, Some(&base), &changed);
        let report = &verdict.checks()[0];
        let expected = message.unwrap_or("3 files changed, 3 lines added, 2 removed");
        assert_eq!(report.message, expected, "{keys}");
        assert_eq!(report.outcome == Outcome::Pass, message.is_none(), "{keys}");
    }
    let spec = one("kind = 'diff'\nno-trailing-whitespace = true");
    let verdict = judge(&spec, Some(&base), &changed);
    let places: Vec<String> = verdict.checks()[0]
        .findings
        .iter()
        .map(|found| format!("{}:{}", found.path.as_deref().unwrap(), found.line.unwrap()))
        .collect();
    assert_eq!(places, ["a:2", "c:1"]);
}

#[test]
fn without_a_change_diff_is_skipped_and_alone_checks_nothing() {
    let tree = repo(&[("a", "")]);
    let verdict = judge(&one("kind = 'diff'\nmax-files = 0"), None, &tree);
    assert_eq!(verdict.checks()[0].outcome, Outcome::Skipped);
    assert_eq!(
        (verdict.status(), verdict.exit_code()),
        (Status::NothingChecked, 4)
    );
    assert!(verdict.failures().is_empty());

    let both = spec(
        "[[check]]\nname = 'd'\nkind = 'diff'\nmax-files = 0\n\
         [[check]]\nname = 'f'\nkind = 'file-exists'\npath = 'a'\n",
    );
    assert_eq!(judge(&both, None, &tree).status(), Status::Passed);
}

#[test]
fn no_checks_are_never_a_pass() {
    let verdict = judge(&Spec::new(""), None, &Repo::new());
    assert_eq!(
        (verdict.status(), verdict.exit_code()),
        (Status::NothingChecked, 4)
    );
}

#[test]
fn predicates_that_break_are_failed_checks() {
    let tree = repo(&[]);
    for (spec, outcome, cause) in [
        (predicate(|_| Ok(true)), Outcome::Pass, None),
        (
            predicate(|_| Ok(false)),
            Outcome::Fail,
            Some(Cause::Findings),
        ),
        (
            predicate(|_| Err("no such file".into())),
            Outcome::Error,
            Some(Cause::Broke {
                message: "no such file".into(),
            }),
        ),
        (
            predicate(|_| panic!("boom {}", 1)),
            Outcome::Error,
            Some(Cause::Panicked {
                message: "boom 1".into(),
            }),
        ),
    ] {
        let verdict = judge(&spec, None, &tree);
        let report = &verdict.checks()[0];
        assert_eq!((report.outcome, &report.cause), (outcome, &cause));
        let passed = cause.is_none();
        assert_eq!(
            verdict.status(),
            if passed {
                Status::Passed
            } else {
                Status::Failed
            }
        );
        assert_eq!(verdict.failures().len(), usize::from(!passed));
    }
}

/// Answers with what its function makes of the check.
struct Scripted(fn(&Check) -> CheckReport);

impl Executor for Scripted {
    fn execute(
        &mut self,
        check: &Check,
        _input: VerifyInput<'_>,
        observe: Observer<'_>,
    ) -> CheckReport {
        if matches!(check.kind, CheckKind::Suite(_)) {
            observe(SuiteProgress {
                collected: 2,
                done: 1,
                failed: 1,
                running: Some("b"),
                failure: Some(("a", TestOutcome::Failed)),
            });
        }
        (self.0)(check)
    }
}

const PACK: &str = "kind = 'pack'\npack = 'text'\ncheck = 'c'";

fn scripted(check: &str, script: fn(&Check) -> CheckReport) -> Verdict {
    let tree = repo(&[]);
    let input = VerifyInput {
        repo: &tree,
        base: None,
    };
    verify(&one(check), input, &mut Scripted(script), &mut |_| {})
}

#[test]
fn a_failure_of_the_host_is_an_error_not_a_failed_candidate() {
    let verdict = judge(&one(PACK), None, &repo(&[]));
    assert_eq!((verdict.status(), verdict.exit_code()), (Status::Error, 5));
    let spec = spec(&format!(
        "[[check]]\nname = 'a'\nkind = 'file-exists'\npath = 'gone'\n[[check]]\nname = 'b'\n{PACK}\n"
    ));
    let verdict = judge(&spec, None, &repo(&[]));
    assert_eq!(verdict.status(), Status::Error, "whatever else failed");
    assert_eq!(verdict.failures(), ["a", "b"]);
}

#[test]
fn executors_are_held_to_their_contract() {
    let isolated = Assurance::Isolated;
    let good = scripted(PACK, |check| {
        CheckReport::pass(check, Assurance::Isolated, "fine")
    });
    assert_eq!((good.status(), good.exit_code()), (Status::Passed, 0));
    let trapped = scripted(PACK, |check| {
        let message = "unreachable".to_owned();
        CheckReport::stopped(check, Assurance::Isolated, Cause::Trap { message }, "trap")
    });
    assert_eq!((trapped.status(), trapped.exit_code()), (Status::Failed, 1));
    let panicked = scripted(PACK, |_| panic!("boom"));
    assert_eq!(panicked.status(), Status::Failed);
    let broken: [fn(&Check) -> CheckReport; 5] = [
        |check| CheckReport::skipped(check, "not today"),
        |check| CheckReport {
            name: "another".into(),
            ..CheckReport::pass(check, Assurance::Isolated, "")
        },
        |check| CheckReport {
            outcome: Outcome::Pass,
            ..CheckReport::stopped(check, Assurance::Isolated, Cause::Findings, "")
        },
        |check| CheckReport {
            outcome: Outcome::Fail,
            ..CheckReport::pass(check, Assurance::Isolated, "")
        },
        |check| CheckReport {
            outcome: Outcome::Fail,
            ..CheckReport::host_failed(check, "", None)
        },
    ];
    for script in broken {
        let verdict = scripted(PACK, script);
        assert_eq!(verdict.status(), Status::Error);
        assert_eq!(verdict.checks()[0].assurance, isolated);
    }
}

#[test]
fn every_check_runs_and_is_announced() {
    let spec = spec(
        "[[check]]\nname = 'a'\nkind = 'file-exists'\npath = 'gone'\n\
         [[check]]\nname = 'b'\nkind = 'file-exists'\npath = 'here'\n",
    );
    let tree = repo(&[("here", "")]);
    let mut seen = Vec::new();
    let input = VerifyInput {
        repo: &tree,
        base: None,
    };
    let verdict = verify(&spec, input, &mut NoExecutor, &mut |event| {
        seen.push(match event {
            Event::CheckStarted {
                index,
                total,
                check,
            } => {
                format!("{index}/{total} {} starts", check.name)
            }
            Event::CheckFinished {
                index,
                total,
                report,
            } => {
                format!("{index}/{total} {} {}", report.name, report.outcome)
            }
            Event::SuiteProgressed { .. } => "no suite ran".to_owned(),
        });
    });
    assert_eq!(
        seen,
        ["0/2 a starts", "0/2 a fail", "1/2 b starts", "1/2 b pass"]
    );
    assert_eq!(verdict.failures(), ["a"]);
}

#[test]
fn a_suite_says_how_far_it_is_and_nothing_is_concluded_from_it() {
    let spec = one("kind = 'suite'\nrunner = 'pytest'\nexpect = ['a']");
    let tree = repo(&[]);
    let input = VerifyInput {
        repo: &tree,
        base: None,
    };
    let mut executor = Scripted(|check| CheckReport::pass(check, Assurance::InGuest, "all well"));
    let mut seen = Vec::new();
    let verdict = verify(&spec, input, &mut executor, &mut |event| {
        if let Event::SuiteProgressed {
            check, progress, ..
        } = event
        {
            seen.push((check.name.clone(), progress.done, progress.failed));
        }
    });
    assert_eq!(seen, [("it".to_owned(), 1, 1)]);
    assert!(verdict.passed());
}

/// A document in which every field has something to show.
fn document() -> VerdictDocument {
    let spec = spec(&format!(
        "[[check]]\nname = 'pack'\n{PACK}\n\
         [[check]]\nname = 'suite'\nkind = 'suite'\nrunner = 'pytest'\nexpect = ['a', 'b']\n\
         [[check]]\nname = 'file'\nkind = 'file-exists'\npath = 'gone'\n"
    ));
    let (base, tree) = (repo(&[("a", "1\n")]), repo(&[("a", "2\n")]));
    let mut executor = Scripted(|check| match &check.kind {
        CheckKind::Suite(suite) => {
            let record = |id: &str, outcome| SuiteRecord::Result {
                id: id.into(),
                outcome,
                message: Some("why".into()),
                reason: None,
                stdout: Some("out".into()),
                stderr: None,
                standins: vec!["fork".into()],
            };
            let records = [
                SuiteRecord::Spent {
                    id: "a".into(),
                    fuel: Fuel(7),
                    duration_ns: 9,
                },
                record("a", TestOutcome::Passed),
                record("b", TestOutcome::Failed),
                SuiteRecord::CollectError(probity_core::verify::CollectError {
                    id: "c.py".into(),
                    message: "boom".into(),
                }),
                SuiteRecord::Finish,
            ];
            let judgement = judge_suite(&suite.expectation, records, &SuiteEnd::Exit(1));
            judgement.into_report(check, Assurance::InGuest, "python 3.15.0", "pytest 9.2.0")
        }
        _ => CheckReport {
            stdout: Some(Captured::keep(b"hello", ByteSize(2))),
            limits: vec![LimitHit {
                limit: Limit::Output,
                cap: 2,
                used: 5,
            }],
            wall_time: WallTime(17),
            ..CheckReport::of_findings(
                check,
                Assurance::Isolated,
                "one problem",
                vec![Finding::error("bad").at("a").on_line(1)],
            )
        },
    });
    let input = VerifyInput {
        repo: &tree,
        base: Some(&base),
    };
    let verdict = verify(&spec, input, &mut executor, &mut |_| {});
    let bytes = render_diff(&base, &tree);
    let plan = plan(&base, &parse(Format::UnifiedDiff, &bytes).unwrap()).unwrap();
    let patch = PatchSummary::new(&bytes, Format::UnifiedDiff, &plan, ByteSize::kib(1));
    let source = SpecSource::File("probity.toml".into());
    VerdictDocument::new(
        &base,
        &tree,
        Some(patch),
        (&spec, source),
        ConditionsSummary {
            seed: 7,
            start_time: 1_767_225_600_000_000_000,
        },
        &verdict,
        WallTime(99),
    )
}

#[test]
fn the_document_is_reproducible_apart_from_its_timings() {
    let document = document();
    let mut later = document.clone();
    later.timings.total_ns = WallTime(1);
    later.timings.checks.clear();
    assert_ne!(document.to_json().unwrap(), later.to_json().unwrap());
    assert_eq!(
        document.reproducible_digest().unwrap(),
        later.reproducible_digest().unwrap()
    );
    later.failures.clear();
    assert_ne!(
        document.reproducible_digest().unwrap(),
        later.reproducible_digest().unwrap()
    );
}

#[test]
fn the_document_is_read_back_as_written() {
    let document = document();
    let text = document.to_json().unwrap();
    let mut read: VerdictDocument = serde_json::from_str(&text).unwrap();
    assert_eq!(read.timings.checks["pack"], WallTime(17));
    assert_eq!(read.to_json().unwrap(), text);
    // Only the wall time of a report is not in it.
    read.checks[0].wall_time = WallTime(17);
    assert_eq!(read, document);
    for (source, text) in [
        (SpecSource::Default, "\"default\""),
        (SpecSource::File("default".into()), "\"./default\""),
    ] {
        assert_eq!(serde_json::to_string(&source).unwrap(), text);
    }
}

#[test]
fn schema_and_page_know_every_field() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&read("verdict.schema.json")).unwrap();
    let page = read("verdict-schema.md");
    let value: serde_json::Value = serde_json::from_str(&document().to_json().unwrap()).unwrap();
    check_against(&schema, &schema, &value, "");
    let limits: Vec<&str> = Limit::ALL.into_iter().map(Limit::name).collect();
    assert_eq!(schema["$defs"]["limit"]["enum"], serde_json::json!(limits));
    for limit in limits {
        assert!(
            page.contains(&format!("`{limit}`")),
            "{limit} is not on the page"
        );
    }
    let mut names = BTreeSet::new();
    field_names(&value, "", &mut names);
    for name in names {
        // Nested ones stand there with their parent's name: `base.tree`.
        assert!(
            page.contains(&format!("{name}`")),
            "{name} is not on the page"
        );
    }
}

/// Whether `value` has the properties that its schema lists, and no others. No validator:
/// it looks at names only.
fn check_against(
    root: &serde_json::Value,
    schema: &serde_json::Value,
    value: &serde_json::Value,
    at: &str,
) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return check_against(root, &root["$defs"][name], value, at);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = choices.iter().find(|choice| {
            let null = choice["type"] == "null";
            null == value.is_null()
        });
        return check_against(root, fits.unwrap(), value, at);
    }
    match value {
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                let at = format!("{at}.{name}");
                let inner = &schema["properties"][name];
                if inner.is_null() {
                    assert!(
                        schema["additionalProperties"].is_object(),
                        "{at} is not in the schema"
                    );
                    continue;
                }
                check_against(root, inner, field, &at);
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(
                    fields.contains_key(name.as_str().unwrap()),
                    "{at} lacks {name}"
                );
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                check_against(root, &schema["items"], item, &format!("{at}[]"));
            }
        }
        _ => {}
    }
}

fn field_names(value: &serde_json::Value, at: &str, names: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                if at != "timings.checks" {
                    names.insert(name.clone());
                }
                field_names(
                    field,
                    &format!("{at}{}{name}", if at.is_empty() { "" } else { "." }),
                    names,
                );
            }
        }
        serde_json::Value::Array(items) => {
            items.iter().for_each(|item| field_names(item, at, names));
        }
        _ => {}
    }
}
