//! Judging suites: records in, outcome and message out.
//!
//! Records are written short: `+a` starts test `a`, `a=passed` is its result, `!a` cannot
//! be collected, `.` is the runner's own end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use probity_core::budget::{Limit, LimitHit};
use probity_core::quantity::Fuel;
use probity_core::spec::Expectation;
use probity_core::verify::{
    Cause, CollectError, Outcome, SuiteEnd, SuiteJudgement, SuiteRecord, TestOutcome, is_failure,
    judge_suite,
};

const ENDED: SuiteEnd = SuiteEnd::Exit(0);

fn records(short: &str) -> Vec<SuiteRecord> {
    short
        .split_whitespace()
        .map(|word| {
            if word == "." {
                SuiteRecord::Finish
            } else if let Some(id) = word.strip_prefix('+') {
                SuiteRecord::Start { id: id.to_owned() }
            } else if let Some(id) = word.strip_prefix('!') {
                SuiteRecord::CollectError(CollectError {
                    id: id.to_owned(),
                    message: "boom".to_owned(),
                })
            } else {
                let (id, outcome) = word.split_once('=').unwrap();
                let json = format!(r#"{{"event":"result","id":"{id}","outcome":"{outcome}"}}"#);
                serde_json::from_str(&json).unwrap()
            }
        })
        .collect()
}

fn expect(ids: &str) -> Expectation {
    Expectation::tests(ids.split_whitespace())
}

fn judged(expectation: &Expectation, short: &str, end: &SuiteEnd) -> (Outcome, String) {
    let judgement = judge_suite(expectation, records(short), end);
    (judgement.outcome(), judgement.message)
}

fn outcome_of(judgement: &SuiteJudgement, id: &str) -> (TestOutcome, bool) {
    let test = judgement.tests.iter().find(|test| test.id == id).unwrap();
    (test.outcome, test.expected)
}

#[test]
fn an_expected_list_passes_only_if_every_test_passed() {
    let list = expect("a b");
    for (short, wanted, message) in [
        (
            "+a a=passed +b b=passed .",
            Outcome::Pass,
            "all 2 expected tests passed",
        ),
        (
            "+a a=passed .",
            Outcome::Fail,
            "1 of 2 expected tests did not pass: b (missing)",
        ),
        (
            ".",
            Outcome::Fail,
            "2 of 2 expected tests did not pass: a (missing), b (missing)",
        ),
        (
            "+a a=passed +b b=failed .",
            Outcome::Fail,
            "1 of 2 expected tests did not pass: b (failed)",
        ),
        (
            "+a a=passed +b b=skipped .",
            Outcome::Fail,
            "1 of 2 expected tests did not pass: b (skipped)",
        ),
        (
            "+a a=passed +b b=xfailed .",
            Outcome::Fail,
            "1 of 2 expected tests did not pass: b (xfailed)",
        ),
        (
            "+a a=passed +b b=xpassed .",
            Outcome::Fail,
            "1 of 2 expected tests did not pass: b (xpassed)",
        ),
        (
            "+a a=passed +b b=error .",
            Outcome::Fail,
            "1 of 2 expected tests did not pass: b (error)",
        ),
        (
            "+a a=passed +b .",
            Outcome::Fail,
            "1 of 2 expected tests did not pass: b (incomplete)",
        ),
        (
            "!b +a a=passed .",
            Outcome::Fail,
            "1 of 2 expected tests did not pass: b (missing)",
        ),
        // What is not expected decides nothing.
        (
            "+a a=passed +b b=passed +c c=failed !d .",
            Outcome::Pass,
            "all 2 expected tests passed",
        ),
    ] {
        assert_eq!(
            judged(&list, short, &ENDED),
            (wanted, message.to_owned()),
            "{short}"
        );
        assert_eq!(
            judged(&list, short, &SuiteEnd::Exit(1)).0,
            wanted,
            "{short}, exit code 1"
        );
    }
}

#[test]
fn exit_code_zero_alone_is_never_a_pass() {
    for expectation in [expect("a"), Expectation::any()] {
        for short in ["", "+a", "+a a=passed"] {
            let judgement = judge_suite(&expectation, records(short), &ENDED);
            assert_eq!(judgement.outcome(), Outcome::Error, "{short}");
            assert_eq!(judgement.cause, Some(Cause::Exit { code: 0 }));
        }
    }
    let (_, message) = judged(&expect("a b"), "+a a=passed +b", &ENDED);
    assert_eq!(
        message,
        "the runner did not reach its end during b: the guest ended with exit code 0"
    );
}

#[test]
fn traps_and_limits_are_errors_even_after_the_last_test() {
    let hit = LimitHit {
        limit: Limit::Fuel,
        cap: 10,
        used: 10,
    };
    let passed = "+a a=passed .";
    let limit = judge_suite(&expect("a"), records(passed), &SuiteEnd::Limit(hit));
    assert_eq!(limit.cause, Some(Cause::Limit(hit)));
    let trap = SuiteEnd::Trap("unreachable".into());
    for short in ["", "+a", passed] {
        assert_eq!(
            judged(&expect("a"), short, &trap).0,
            Outcome::Error,
            "{short}"
        );
        assert_eq!(
            judged(&Expectation::any(), short, &trap).0,
            Outcome::Error,
            "{short}"
        );
    }
}

#[test]
fn the_worst_of_several_results_counts() {
    let list = expect("a");
    for (short, wanted) in [
        ("+a a=failed +a a=passed .", TestOutcome::Failed),
        ("+a a=passed +a a=failed .", TestOutcome::Failed),
        ("+a a=passed a=error .", TestOutcome::Error),
        ("+a a=passed +a .", TestOutcome::Incomplete),
        ("+a +a a=failed .", TestOutcome::Failed),
        ("+a a=passed +a a=passed .", TestOutcome::Passed),
        ("+a a=passed a=skipped .", TestOutcome::Skipped),
        ("a=missing a=passed .", TestOutcome::Missing),
    ] {
        let judgement = judge_suite(&list, records(short), &ENDED);
        assert_eq!(outcome_of(&judgement, "a"), (wanted, true), "{short}");
        let passes = wanted == TestOutcome::Passed;
        assert_eq!(judgement.cause.is_none(), passes, "{short}");
    }
}

#[test]
fn records_after_the_end_are_refused() {
    for short in [". +a a=passed", "+a . a=passed", "+a a=passed . ."] {
        let judgement = judge_suite(&expect("a"), records(short), &ENDED);
        assert!(
            matches!(judgement.cause, Some(Cause::Protocol { .. })),
            "{short}"
        );
    }
}

#[test]
fn without_a_list_something_must_pass_and_nothing_fail() {
    let any = Expectation::any();
    for (short, code, wanted) in [
        ("+a a=passed .", 0, Outcome::Pass),
        (
            "+a a=passed +b b=skipped +c c=xfailed +d d=xpassed .",
            0,
            Outcome::Pass,
        ),
        ("+a a=passed .", 1, Outcome::Error),
        ("+a a=skipped .", 0, Outcome::Fail),
        (".", 0, Outcome::Fail),
        ("+a a=passed +b b=failed .", 1, Outcome::Fail),
        ("+a a=passed +b .", 0, Outcome::Fail),
        ("+a a=passed !m .", 0, Outcome::Fail),
    ] {
        assert_eq!(
            judged(&any, short, &SuiteEnd::Exit(code)).0,
            wanted,
            "{short} {code}"
        );
    }
    let except = Expectation::Any {
        except: ["b".to_owned()].into(),
    };
    let failing = SuiteEnd::Exit(1);
    assert_eq!(
        judged(&except, "+a a=passed +b b=failed .", &failing).0,
        Outcome::Pass
    );
    assert_eq!(judged(&except, "+b b=failed .", &failing).0, Outcome::Fail);
    assert_eq!(judged(&except, "+a a=failed .", &failing).0, Outcome::Fail);
}

#[test]
fn an_excepted_test_is_listed_but_not_expected() {
    let expectation = Expectation::Tests {
        ids: ["a", "b"].map(str::to_owned).into(),
        except: ["b".to_owned()].into(),
    };
    let judgement = judge_suite(&expectation, records("+b b=failed +a a=passed ."), &ENDED);
    assert_eq!(
        (judgement.outcome(), judgement.expected),
        (Outcome::Pass, 1)
    );
    assert_eq!(outcome_of(&judgement, "b"), (TestOutcome::Failed, false));
    let ids: Vec<&str> = judgement
        .tests
        .iter()
        .map(|test| test.id.as_str())
        .collect();
    assert_eq!(ids, ["a", "b"], "sorted, whatever the order of the records");
}

#[test]
fn an_expectation_without_tests_never_passes() {
    let (outcome, message) = judged(&expect(""), "+a a=passed .", &ENDED);
    assert_eq!(
        (outcome, message.as_str()),
        (Outcome::Fail, "no test is expected")
    );
}

#[test]
fn a_message_names_a_few_tests_and_escapes_them() {
    let ids = ["a", "b", "c", "d", "e\u{1b}[31m"];
    let (_, message) = judged(&Expectation::tests(ids), ".", &ENDED);
    assert_eq!(
        message,
        "5 of 5 expected tests did not pass: a (missing), b (missing), c (missing), …"
    );
    let (_, message) = judged(&Expectation::tests(["e\u{1b}[31m"]), ".", &ENDED);
    assert!(message.ends_with(r"e\u{1b}[31m (missing)"), "{message}");
}

#[test]
fn what_a_test_took_adds_up_and_decides_nothing() {
    let spent = |fuel, duration_ns| SuiteRecord::Spent {
        id: "a".to_owned(),
        fuel: Fuel(fuel),
        duration_ns,
    };
    let mut all = records("+a a=passed .");
    all.insert(1, spent(3, 4));
    all.insert(1, spent(5, 6));
    // What the host measures after the runner's end is no record of the runner.
    all.push(spent(1, 1));
    let judgement = judge_suite(&expect("a b"), all, &ENDED);
    assert_eq!(judgement.cause, Some(Cause::Tests));
    let test = |id: &str| judgement.tests.iter().find(|test| test.id == id).unwrap();
    assert_eq!((test("a").fuel, test("a").duration_ns), (Fuel(9), 11));
    assert_eq!((test("b").fuel, test("b").duration_ns), (Fuel(0), 0));
    // Nor does it make a test that nobody reported a complete one.
    let judgement = judge_suite(&Expectation::any(), [spent(1, 1)], &ENDED);
    assert_eq!(
        outcome_of(&judgement, "a"),
        (TestOutcome::Incomplete, false)
    );
}

#[test]
fn which_tests_decide_follows_from_the_expectation() {
    let list = expect("a");
    assert!(is_failure(&list, "a", TestOutcome::Skipped));
    assert!(!is_failure(&list, "a", TestOutcome::Passed));
    assert!(!is_failure(&list, "b", TestOutcome::Failed));
    let any = Expectation::Any {
        except: ["b".to_owned()].into(),
    };
    assert!(is_failure(&any, "a", TestOutcome::Incomplete));
    assert!(!is_failure(&any, "a", TestOutcome::Skipped));
    assert!(!is_failure(&any, "b", TestOutcome::Failed));
    let judgement = judge_suite(
        &any,
        records("+a a=passed +b b=failed ."),
        &SuiteEnd::Exit(1),
    );
    let decide: Vec<bool> = judgement.tests.iter().map(|test| test.decides).collect();
    assert_eq!(decide, [true, false]);
}

#[test]
fn a_reason_stays_apart_from_a_message() {
    let json =
        r#"{"event":"result","id":"a","outcome":"skipped","reason":"no net","standins":["fork"]}"#;
    let record: SuiteRecord = serde_json::from_str(json).unwrap();
    let judgement = judge_suite(&Expectation::any(), [record], &ENDED);
    let test = judgement.tests.first().unwrap();
    assert_eq!(
        (test.reason.as_deref(), test.message.as_deref()),
        (Some("no net"), None)
    );
    assert_eq!(test.standins, ["fork"]);
}
