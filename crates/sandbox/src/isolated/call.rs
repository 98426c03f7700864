//! The kind `call`: answers of a function, compared with what is expected.

use probity_core::quantity::Fuel;
use probity_core::spec::{CallCase, CallCheck, CallExpectation};
use probity_core::verify::{Cause, CheckReport, TestOutcome, difference};

use super::answers::{Answer, Answered};
use super::calls::{Asked, Call, Callee, Came};
use super::report::{Bench, CaseReport, of_cases};
use crate::suite::Environment;
use crate::text::clean;

/// Longest quoted text of an exception, in characters.
const QUOTED: usize = 300;

/// Makes the calls of `wanted` and judges what comes of them.
pub(crate) fn check_calls(
    bench: Bench<'_>,
    environment: &Environment,
    wanted: &CallCheck,
) -> CheckReport {
    let callee = Callee {
        bench,
        environment,
        tree: bench.repo,
        python_path: &wanted.interpreter.python_path,
        function: &wanted.function,
        instance: wanted.instance,
    };
    let calls: Vec<Call> = wanted
        .cases
        .iter()
        .map(|case| Call {
            args: case.args.clone(),
            kwargs: case.kwargs.clone(),
        })
        .collect();
    let Asked {
        came,
        mut spent,
        runtime,
    } = match callee.ask(&calls) {
        Ok(asked) => asked,
        Err(report) => return *report,
    };
    let cases = wanted.cases.iter().zip(came).enumerate();
    let cases = cases.map(|(index, (case, came))| {
        let name = case.name.or_number(index);
        case_report(name, came, wanted.hidden, &mut spent.limits, |answer| {
            objection(case, answer)
        })
    });
    let cases = cases.collect();
    let what = format!("call {}", wanted.function);
    of_cases(bench, &what, (runtime, Some(environment)), cases, spent)
}

/// How a call came out, whose answer `object` may object to. If it is `hidden`, nothing is
/// said about values.
pub(super) fn case_report(
    name: String,
    came: Came,
    hidden: bool,
    limits: &mut Vec<probity_core::budget::LimitHit>,
    object: impl FnOnce(&Answer) -> Option<String>,
) -> CaseReport {
    let (outcome, message, fuel, duration_ns) = match came {
        Came::Answer(Answered {
            answer,
            fuel,
            duration_ns,
        }) => match object(&answer) {
            None => (TestOutcome::Passed, None, fuel, duration_ns),
            Some(_) if hidden => {
                let message = "the answer is not the expected one".to_owned();
                (TestOutcome::Failed, Some(message), fuel, duration_ns)
            }
            Some(message) => (TestOutcome::Failed, Some(message), fuel, duration_ns),
        },
        Came::Lost { cause, fuel } => {
            if let Cause::Limit(hit) = &cause {
                limits.push(*hit);
            }
            let message = format!("there was no answer: {cause}");
            (TestOutcome::Incomplete, Some(message), fuel, 0)
        }
    };
    CaseReport {
        name,
        outcome,
        message,
        fuel: fuel.max(Fuel(0)),
        duration_ns,
    }
}

/// What is wrong with the answer to a call, if something is.
fn objection(case: &CallCase, answer: &Answer) -> Option<String> {
    match (&case.expected, answer) {
        (CallExpectation::Returns { value, tolerance }, Answer::Value(found)) => {
            difference(value, found, *tolerance).map(|found| format!("it returned {found}"))
        }
        (CallExpectation::Returns { .. }, Answer::Raised { .. }) => Some(shown(answer)),
        (
            CallExpectation::Raises { exception, message },
            Answer::Raised {
                types,
                message: said,
            },
        ) => {
            if !types.contains(exception) {
                return Some(format!("{}, not {exception}", shown(answer)));
            }
            let pattern = message.as_ref()?;
            (!pattern.is_match(said.as_bytes())).then(|| {
                format!(
                    "{}, which `{}` does not match",
                    shown(answer),
                    pattern.as_str()
                )
            })
        }
        (CallExpectation::Raises { exception, .. }, Answer::Value(_)) => {
            Some(format!("{}, {exception} was to be raised", shown(answer)))
        }
        (_, Answer::Formless(_)) => Some(shown(answer)),
    }
}

/// An answer in words.
pub(super) fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Value(value) => {
            let text: String = value.to_string().chars().take(QUOTED).collect();
            format!("it returned {}", clean(&text))
        }
        Answer::Raised { types, message } => {
            let name = types.first().map_or("an exception", String::as_str);
            let said: String = message.chars().take(QUOTED).collect();
            format!("it raised {}: {}", clean(name), clean(&said))
        }
        Answer::Formless(message) => {
            let said: String = message.chars().take(QUOTED).collect();
            format!(
                "it returned something without a JSON form: {}",
                clean(&said)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use probity_core::spec::CaseName;
    use serde_json::json;

    use super::*;

    fn case(expected: CallExpectation) -> CallCase {
        CallCase {
            name: CaseName(None),
            args: Vec::new(),
            kwargs: serde_json::Map::new(),
            expected,
        }
    }

    #[test]
    fn a_value_is_compared_and_an_exception_is_none() {
        let case = case(CallExpectation::Returns {
            value: json!(1),
            tolerance: 0.0,
        });
        assert_eq!(objection(&case, &Answer::Value(json!(1.0))), None);
        assert_eq!(
            objection(&case, &Answer::Value(json!(2))).unwrap(),
            "it returned 2, not 1"
        );
        let raised = Answer::Raised {
            types: vec!["ValueError".to_owned(), "Exception".to_owned()],
            message: "no\u{1b}[1m".to_owned(),
        };
        let said = objection(&case, &raised).unwrap();
        assert!(said.starts_with("it raised ValueError: no") && !said.contains('\u{1b}'));
        assert!(objection(&case, &Answer::Formless("set".to_owned())).is_some());
    }

    #[test]
    fn an_exception_is_known_by_its_bases_and_its_message() {
        let raised = Answer::Raised {
            types: ["MyError", "m.MyError", "ValueError"]
                .map(str::to_owned)
                .into(),
            message: "bad value 7".to_owned(),
        };
        let expects = |exception: &str, message: Option<&str>| {
            let message = message.map(|text| probity_core::spec::Pattern::new(text).unwrap());
            objection(
                &case(CallExpectation::Raises {
                    exception: exception.to_owned(),
                    message,
                }),
                &raised,
            )
        };
        assert_eq!(expects("ValueError", None), None);
        assert_eq!(expects("m.MyError", Some(r"value \d")), None);
        assert!(expects("KeyError", None).is_some());
        assert!(expects("ValueError", Some("^good")).is_some());
    }
}
