//! The plan → patch → verify loop on the task *greet*: a small module and its test file,
//! five checks, an agent whose first patch is wrong.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use probity_core::Repo;
use probity_core::agent::{
    AgentError, PatchText, Patcher, Planner, ReplayError, RunResult, StopReason, Transcript,
    TranscriptEvent, replay, run,
};
use probity_core::guard::Guard;
use probity_core::patch::{Format, PatchErrorKind};
use probity_core::repo::File;
use probity_core::spec::{Check, CheckKind, Spec};
use probity_core::verify::{
    Assurance, Cause, CheckReport, Executor, Observer, Verdict, VerifyInput, verify,
};

const SPEC: &str = r#"
version = 1
description = "util.greet greets by name, with a test."

[guard]
allow = ["util.py", "test_util.py"]

[[check]]
name = "util.py exists"
kind = "file-exists"
path = "util.py"

[[check]]
name = "test_util.py exists"
kind = "file-exists"
path = "test_util.py"

[[check]]
name = "util.py defines greet"
kind = "defines"
path = "util.py"
function = "greet"

[[check]]
name = "util.py says Hi"
kind = "file-contains"
path = "util.py"
text = "Hi {name}"

[[check]]
name = "the test calls greet"
kind = "file-contains"
path = "test_util.py"
text = "greet("
"#;

const WRONG: &str = "def greet(name):\n    return f\"Hey {name}\"\n";
const TEST: &str =
    "from util import greet\n\n\ndef test_greet():\n    assert greet(\"Ada\") == \"Hi Ada\"\n";

fn spec() -> Spec {
    Spec::parse("probity.toml", SPEC, &|_| Err("no files".into())).unwrap()
}

fn text(repo: &Repo, path: &str) -> Option<String> {
    let file = repo.get(&path.parse().unwrap())?;
    Some(String::from_utf8(file.bytes().to_vec()).unwrap())
}

/// Stands in for the sandbox: knows the one check that is asked of it.
struct LooksForDef;

impl Executor for LooksForDef {
    fn execute(
        &mut self,
        check: &Check,
        input: VerifyInput<'_>,
        _observe: Observer<'_>,
    ) -> CheckReport {
        let CheckKind::Pack(pack) = &check.kind else {
            return CheckReport::host_failed(check, "only packs here", None);
        };
        let path = pack.params["path"].as_str().unwrap();
        let wanted = format!("def {}(", pack.params["name"].as_str().unwrap());
        if text(input.repo, path).is_some_and(|text| text.contains(&wanted)) {
            CheckReport::pass(check, Assurance::Isolated, "it is defined")
        } else {
            let cause = Cause::Findings;
            CheckReport::stopped(check, Assurance::Isolated, cause, "it is not defined")
        }
    }
}

fn verifier(spec: &Spec, base: &Repo, repo: &Repo) -> Verdict {
    let base = Some(base);
    verify(
        spec,
        VerifyInput { repo, base },
        &mut LooksForDef,
        &mut |_| {},
    )
}

/// Plans two steps and remembers what it was told had failed.
#[derive(Default)]
struct TwoSteps {
    told: Vec<Vec<String>>,
}

impl Planner for TwoSteps {
    fn plan(&mut self, _: &Spec, verdict: &Verdict) -> Result<Vec<String>, AgentError> {
        self.told.push(verdict.failures().to_vec());
        Ok(vec!["write util.greet".into(), "write test_util".into()])
    }
}

fn json_patch(value: &serde_json::Value, format: Format) -> PatchText {
    PatchText::new(format, value.to_string())
}

fn create(path: &str, content: &str) -> PatchText {
    let file = serde_json::json!({"path": path, "op": "create", "content": content});
    json_patch(&serde_json::json!({"files": [file]}), Format::WholeFile)
}

fn edit(path: &str, old: &str, new: &str) -> PatchText {
    let edit = serde_json::json!({"path": path, "old": old, "new": new});
    json_patch(&serde_json::json!({"edits": [edit]}), Format::SearchReplace)
}

/// A pure function of the tree: wrong on first touch, then corrected if it may.
struct WrongFirst {
    learns: bool,
}

impl Patcher for WrongFirst {
    fn patch(
        &mut self,
        _: &Spec,
        step: &str,
        _: &Verdict,
        repo: &Repo,
    ) -> Result<Vec<PatchText>, AgentError> {
        Ok(
            match (step, text(repo, "util.py"), text(repo, "test_util.py")) {
                ("write util.greet", None, _) => vec![create("util.py", WRONG)],
                ("write util.greet", Some(_), _) if self.learns => {
                    vec![edit("util.py", "Hey {", "Hi {")]
                }
                ("write test_util", _, None) => vec![create("test_util.py", TEST)],
                _ => Vec::new(),
            },
        )
    }
}

/// Answers every step with the same patches.
struct Always(Vec<PatchText>);

impl Patcher for Always {
    fn patch(
        &mut self,
        _: &Spec,
        _: &str,
        _: &Verdict,
        _: &Repo,
    ) -> Result<Vec<PatchText>, AgentError> {
        Ok(self.0.clone())
    }
}

fn start(base: &Repo, patcher: &mut dyn Patcher, max_iterations: u32) -> (RunResult, TwoSteps) {
    let mut planner = TwoSteps::default();
    let result = run(
        base,
        &spec(),
        &mut planner,
        patcher,
        &mut verifier,
        max_iterations,
    )
    .unwrap();
    (result, planner)
}

fn base() -> Repo {
    let mut repo = Repo::new();
    repo.insert(&"README.md".parse().unwrap(), File::regular(*b"greet\n"))
        .unwrap();
    repo
}

#[test]
fn wrong_once_then_fixed_takes_two_iterations() {
    let (result, planner) = start(&base(), &mut WrongFirst { learns: true }, 8);
    assert!(result.passed);
    assert_eq!((result.iterations, result.reason), (2, StopReason::Passed));
    assert_eq!(planner.told[0].len(), 5, "at first nothing holds");
    assert_eq!(
        planner.told[1],
        ["util.py says Hi"],
        "the failure flows into the next plan"
    );
    assert!(text(&result.repo, "util.py").unwrap().contains("Hi {name}"));
    assert!(base().get(&"util.py".parse().unwrap()).is_none());
}

#[test]
fn already_satisfied_takes_none() {
    let (done, _) = start(&base(), &mut WrongFirst { learns: true }, 8);
    let (result, planner) = start(&done.repo, &mut Always(vec![create("x", "")]), 8);
    assert!(result.passed && planner.told.is_empty());
    assert_eq!(result.iterations, 0);
    assert_eq!(result.transcript.events.len(), 2, "one verify, one stop");
}

#[test]
fn never_fixed_takes_all_iterations_and_does_not_pass() {
    for max in [0, 1, 3, 8] {
        let (result, planner) = start(&base(), &mut WrongFirst { learns: false }, max);
        assert!(!result.passed);
        assert_eq!(
            (result.iterations, result.reason),
            (max, StopReason::MaxIterations)
        );
        assert_eq!(planner.told.len(), usize::try_from(max).unwrap());
    }
}

fn applies(transcript: &Transcript) -> Vec<(bool, Option<PatchErrorKind>)> {
    let mut applies = Vec::new();
    for event in &transcript.events {
        if let TranscriptEvent::Apply(event) = event {
            assert_eq!(event.ok, event.error.is_none());
            assert!(
                event.ok || event.before == event.after,
                "a failed patch changed the tree"
            );
            applies.push((event.ok, event.error.as_ref().map(|error| error.kind)));
        }
    }
    applies
}

#[test]
fn a_failed_patch_changes_nothing_is_recorded_and_does_not_stop_its_siblings() {
    let patches = vec![
        edit("README.md", "not there", "x"),
        create("util.py", WRONG),
        PatchText::new(Format::UnifiedDiff, "not a diff"),
        create("util.py", "twice"),
    ];
    let (result, _) = start(&base(), &mut Always(patches), 1);
    let first_step: Vec<_> = applies(&result.transcript).into_iter().take(4).collect();
    assert_eq!(
        first_step,
        [
            (false, Some(PatchErrorKind::PathDenied)),
            (true, None),
            (false, Some(PatchErrorKind::Syntax)),
            (false, Some(PatchErrorKind::Exists)),
        ]
    );
    assert_eq!(text(&result.repo, "util.py").unwrap(), WRONG);

    let (result, _) = start(
        &result.repo,
        &mut Always(vec![edit("util.py", "nowhere", "x")]),
        2,
    );
    let kinds = applies(&result.transcript);
    assert_eq!(kinds, [(false, Some(PatchErrorKind::NotFound)); 4]);
}

#[test]
fn the_guard_refuses_and_the_refusal_is_recorded() {
    let mut patcher = Always(vec![create(".github/workflows/deploy.yml", "on: push\n")]);
    let (result, _) = start(&base(), &mut patcher, 1);
    assert!(!result.passed);
    assert_eq!(
        applies(&result.transcript),
        [(false, Some(PatchErrorKind::PathDenied)); 2]
    );
    assert_eq!(result.repo.digest(), base().digest());
}

struct GivesUp;

impl Planner for GivesUp {
    fn plan(&mut self, _: &Spec, _: &Verdict) -> Result<Vec<String>, AgentError> {
        Err(AgentError::new("out of ideas"))
    }
}

impl Patcher for GivesUp {
    fn patch(
        &mut self,
        _: &Spec,
        _: &str,
        _: &Verdict,
        _: &Repo,
    ) -> Result<Vec<PatchText>, AgentError> {
        Err(AgentError::new("out of ideas"))
    }
}

struct ManySteps;

impl Planner for ManySteps {
    fn plan(&mut self, _: &Spec, _: &Verdict) -> Result<Vec<String>, AgentError> {
        Ok(vec![String::new(); 1001])
    }
}

#[test]
fn an_agent_that_gives_up_ends_the_loop() {
    let planners: [(&mut dyn Planner, Option<usize>, &str); 3] = [
        (&mut GivesUp, None, "out of ideas"),
        (&mut TwoSteps::default(), Some(0), "out of ideas"),
        (
            &mut ManySteps,
            None,
            "the plan has 1001 parts, more than 1000",
        ),
    ];
    for (planner, step, message) in planners {
        let result = run(&base(), &spec(), planner, &mut GivesUp, &mut verifier, 8).unwrap();
        assert_eq!((result.passed, result.iterations), (false, 1));
        assert_eq!(result.reason, StopReason::AgentFailed);
        let gave_up = TranscriptEvent::GaveUp {
            step,
            message: message.into(),
        };
        assert!(result.transcript.events.contains(&gave_up));
        assert!(replay(&result.transcript, &base(), &spec().guard).is_ok());
    }
}

#[test]
fn a_failing_host_is_not_worth_another_iteration() {
    let mut broken = |_: &Spec, _: &Repo, _: &Repo| {
        let check = &spec().checks[0];
        Verdict::new(vec![CheckReport::host_failed(check, "no sandbox", None)])
    };
    let mut planner = TwoSteps::default();
    let mut patcher = WrongFirst { learns: true };
    let result = run(&base(), &spec(), &mut planner, &mut patcher, &mut broken, 8).unwrap();
    assert_eq!(
        (result.iterations, result.reason),
        (0, StopReason::HostFailed)
    );
    assert!(!result.passed);
}

#[test]
fn a_replay_gives_the_same_tree() {
    let guard = spec().guard;
    for (patcher, max) in [
        (&mut WrongFirst { learns: true } as &mut dyn Patcher, 8),
        (&mut WrongFirst { learns: false }, 3),
        (
            &mut Always(vec![create("secrets.py", ""), create("util.py", WRONG)]),
            2,
        ),
        (&mut Always(Vec::new()), 2),
    ] {
        let (result, _) = start(&base(), patcher, max);
        let json = result.transcript.to_json().unwrap();
        let read: Transcript = serde_json::from_str(&json).unwrap();
        assert_eq!(read, result.transcript);
        let tree = replay(&read, &base(), &guard).unwrap();
        assert_eq!(tree.digest(), result.repo.digest());
        assert_eq!(read.to_json().unwrap(), json);
    }
}

/// The transcript of the greet task, changed as text.
fn tampered(change: impl Fn(&str) -> String) -> Result<Repo, ReplayError> {
    let (result, _) = start(&base(), &mut WrongFirst { learns: true }, 8);
    let json = result.transcript.to_json().unwrap();
    let changed = change(&json);
    assert_ne!(changed, json, "the change did nothing");
    replay(
        &serde_json::from_str(&changed).unwrap(),
        &base(),
        &spec().guard,
    )
}

#[test]
fn a_tampered_transcript_is_refused() {
    type Refused = fn(&ReplayError) -> bool;
    let cases: [(&str, &str, Refused); 8] = [
        ("Hi {", "Yo {", |error| {
            matches!(error, ReplayError::Tree { .. })
        }),
        (
            "\"ok\": true,\n      \"error\": null",
            "\"ok\": false,\n      \"error\": null",
            |error| matches!(error, ReplayError::Patch { .. }),
        ),
        (
            "\"status\": \"failed\"",
            "\"status\": \"passed\"",
            |error| {
                matches!(
                    error,
                    ReplayError::Differs { .. } | ReplayError::OutOfStep { .. }
                )
            },
        ),
        ("\"iterations\": 2", "\"iterations\": 1", |error| {
            matches!(
                error,
                ReplayError::Differs {
                    what: "iterations",
                    ..
                }
            )
        }),
        ("\"iteration\": 2", "\"iteration\": 3", |error| {
            matches!(
                error,
                ReplayError::Differs {
                    what: "iteration",
                    ..
                }
            )
        }),
        (
            "\"reason\": \"passed\"",
            "\"reason\": \"max-iterations\"",
            |error| matches!(error, ReplayError::Differs { what: "reason", .. }),
        ),
        ("\"max_iterations\": 8", "\"max_iterations\": 1", |error| {
            matches!(
                error,
                ReplayError::OutOfStep { .. } | ReplayError::Differs { .. }
            )
        }),
        ("probity.transcript/1", "probity.transcript/2", |error| {
            matches!(error, ReplayError::Schema { .. })
        }),
    ];
    for (from, to, refused) in cases {
        let error = tampered(|json| json.replacen(from, to, 1)).unwrap_err();
        assert!(refused(&error), "{from}: {error}");
    }
}

#[test]
fn a_transcript_cannot_lose_gain_or_swap_events() {
    let (result, _) = start(&base(), &mut WrongFirst { learns: true }, 8);
    let (transcript, guard) = (result.transcript, spec().guard);
    let count = transcript.events.len();
    for at in 0..count {
        let mut lost = transcript.clone();
        lost.events.remove(at);
        assert!(
            replay(&lost, &base(), &guard).is_err(),
            "without event {at}"
        );
        let mut twice = transcript.clone();
        twice.events.insert(at, transcript.events[at].clone());
        assert!(replay(&twice, &base(), &guard).is_err(), "event {at} twice");
        if at > 0 {
            let mut swapped = transcript.clone();
            swapped.events.swap(at, at - 1);
            assert!(
                replay(&swapped, &base(), &guard).is_err(),
                "events {at} swapped"
            );
        }
    }
}

#[test]
fn a_replay_needs_the_same_tree_and_guard() {
    let (result, _) = start(&base(), &mut WrongFirst { learns: true }, 8);
    let error = replay(&result.transcript, &Repo::new(), &spec().guard).unwrap_err();
    assert!(
        matches!(error, ReplayError::Tree { index: 0, .. }),
        "{error}"
    );
    let narrow = Guard::new(&["other.py"], &[], spec().guard.limits().to_owned()).unwrap();
    let error = replay(&result.transcript, &base(), &narrow).unwrap_err();
    assert!(matches!(error, ReplayError::Patch { .. }), "{error}");
}
