//! The kind `oracle`: a function under test against a trusted one, on generated arguments.
//!
//! Three kinds of guests: one makes the arguments, one has the reference, one the candidate.
//! The first two hold the reference file and nothing of the candidate's, the third holds the
//! tree and nothing of the reference's.

use std::sync::Arc;

use probity_core::repo::File;
use probity_core::spec::{Function, Instance, OracleCheck};
use probity_core::verify::{CheckReport, difference};
use probity_core::{Digest, Repo, RepoPath};
use serde_json::{Map, Value as Json};

use super::answers::Answer;
use super::call::{case_report, shown};
use super::calls::{Asked, Call, Callee, Came};
use super::report::{Bench, of_cases};
use crate::executor::SpecFiles;
use crate::suite::Environment;
use crate::text::clean;

/// The module that the reference is imported as.
const MODULE: &str = "probity_reference";
/// The key of an argument that becomes a generator of random numbers in the guest.
const RANDOM: &str = "$random";
/// Longest arguments that a report shows, in characters.
const SHOWN: usize = 200;

/// Compares the candidate with the reference.
pub(crate) fn check_oracle(
    bench: Bench<'_>,
    environment: &Environment,
    wanted: &OracleCheck,
    files: &Arc<SpecFiles>,
) -> CheckReport {
    match compare(bench, environment, wanted, files) {
        Ok(report) => report,
        Err(report) => *report,
    }
}

fn compare(
    bench: Bench<'_>,
    environment: &Environment,
    wanted: &OracleCheck,
    files: &Arc<SpecFiles>,
) -> Result<CheckReport, Box<CheckReport>> {
    let tree = reference_tree(bench, wanted, files)?;
    let here = [".".to_owned()];
    let trusted = |name: &str| Function {
        module: MODULE.to_owned(),
        name: name.to_owned(),
    };
    let (generate, reference) = (
        trusted(&wanted.generate),
        trusted(&wanted.reference_function),
    );
    let callee = |function, instance| Callee {
        bench,
        environment,
        tree: &tree,
        python_path: &here,
        function,
        instance,
    };
    let unfit = |what: &str, why: String| {
        let message = format!("the reference `{}` cannot {what}: {why}", wanted.reference);
        bench.host_failed(message)
    };
    let trust = |asked: Result<Asked, Box<CheckReport>>, what: &str| {
        asked.map_err(|report| unfit(what, clean(&report.message)))
    };

    let seeds = (0..wanted.cases).map(|index| Call {
        args: vec![random(bench, index), index.into()],
        kwargs: Map::new(),
    });
    let seeds: Vec<Call> = seeds.collect();
    let made = trust(
        callee(&generate, Instance::Shared).ask(&seeds),
        "make arguments",
    )?;
    let mut calls = Vec::with_capacity(made.came.len());
    for came in made.came {
        let call = match came {
            Came::Answer(answered) => arguments(answered.answer),
            Came::Lost { cause, .. } => Err(cause.to_string()),
        };
        calls.push(call.map_err(|why| unfit("make arguments", why))?);
    }
    let expected = trust(callee(&reference, Instance::Shared).ask(&calls), "answer")?;
    let mut answers = Vec::with_capacity(calls.len());
    for came in expected.came {
        match came {
            Came::Answer(answered) => match answered.answer {
                Answer::Formless(message) => return Err(unfit("answer", clean(&message))),
                answer => answers.push(answer),
            },
            Came::Lost { cause, .. } => return Err(unfit("answer", cause.to_string())),
        }
    }

    let candidate = Callee {
        bench,
        environment,
        tree: bench.repo,
        python_path: &wanted.interpreter.python_path,
        function: &wanted.function,
        instance: wanted.instance,
    };
    let Asked {
        came,
        mut spent,
        runtime,
    } = candidate.ask(&calls)?;
    let rows = came.into_iter().zip(&answers).zip(&calls).enumerate();
    let cases = rows.map(|(index, ((came, expected), call))| {
        let name = format!("case {}", index.saturating_add(1));
        case_report(name, came, wanted.hidden, &mut spent.limits, |answer| {
            let found = objection(expected, answer, wanted.tolerance)?;
            Some(format!("{}\narguments: {}", found, shown_call(call)))
        })
    });
    let cases = cases.collect();
    let what = format!("oracle {}", wanted.function);
    Ok(of_cases(
        bench,
        &what,
        (runtime, Some(environment)),
        cases,
        spent,
    ))
}

/// A tree with the reference and nothing else.
fn reference_tree(
    bench: Bench<'_>,
    wanted: &OracleCheck,
    files: &Arc<SpecFiles>,
) -> Result<Repo, Box<CheckReport>> {
    let bytes = files(&wanted.reference).map_err(|problem| {
        let message = format!(
            "cannot read the reference `{}`: {problem}",
            wanted.reference
        );
        bench.host_failed(message)
    })?;
    let mut tree = Repo::new();
    let path = RepoPath::new(&format!("{MODULE}.py"));
    path.map_err(|error| error.to_string())
        .and_then(|path| {
            tree.insert(&path, File::regular(bytes))
                .map(|_| ())
                .map_err(|error| error.to_string())
        })
        .map_err(|message| bench.host_failed(message))?;
    Ok(tree)
}

/// What stands for the generator of a case. Its seed is a digest of ours and the number, so
/// that neighbouring cases have nothing in common.
fn random(bench: Bench<'_>, index: u64) -> Json {
    let text = format!("probity.oracle/1 {} {index}", bench.conditions.seed);
    let hex = Digest::of(text.as_bytes()).to_string();
    // 52 bits: a whole number in any reader of JSON.
    let seed = hex
        .rsplit(':')
        .next()
        .and_then(|hex| hex.get(..13))
        .and_then(|hex| u64::from_str_radix(hex, 16).ok())
        .unwrap_or(index);
    let mut table = Map::new();
    table.insert(RANDOM.to_owned(), seed.into());
    Json::Object(table)
}

/// The call that the generator's answer describes: a list of arguments, or a table with
/// `args` and `kwargs`.
fn arguments(answer: Answer) -> Result<Call, String> {
    const WANTED: &str = "it must return a list, or a table with `args` and `kwargs`";
    match answer {
        Answer::Value(Json::Array(args)) => Ok(Call {
            args,
            kwargs: Map::new(),
        }),
        Answer::Value(Json::Object(mut table)) => {
            let args = match table.remove("args") {
                None => Vec::new(),
                Some(Json::Array(args)) => args,
                Some(_) => return Err(WANTED.to_owned()),
            };
            let kwargs = match table.remove("kwargs") {
                None => Map::new(),
                Some(Json::Object(kwargs)) => kwargs,
                Some(_) => return Err(WANTED.to_owned()),
            };
            match table.is_empty() {
                true => Ok(Call { args, kwargs }),
                false => Err(WANTED.to_owned()),
            }
        }
        Answer::Value(_) => Err(WANTED.to_owned()),
        other => Err(shown(&other)),
    }
}

/// What is wrong with the candidate's answer, if the reference gave another.
fn objection(expected: &Answer, found: &Answer, tolerance: f64) -> Option<String> {
    match (expected, found) {
        (Answer::Value(expected), Answer::Value(found)) => {
            difference(expected, found, tolerance).map(|found| format!("it returned {found}"))
        }
        // The same class; texts of exceptions are nobody's promise.
        (Answer::Raised { types: a, .. }, Answer::Raised { types: b, .. })
            if a.first().is_some_and(|name| b.contains(name)) =>
        {
            None
        }
        (expected, found) => Some(format!(
            "{}; the reference: {}",
            shown(found),
            shown(expected)
        )),
    }
}

fn shown_call(call: &Call) -> String {
    let mut text = Json::Array(call.args.clone()).to_string();
    if !call.kwargs.is_empty() {
        text.push_str(&format!(" and {}", Json::Object(call.kwargs.clone())));
    }
    let cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() {
        format!("{cut}…")
    } else {
        cut
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn generated_arguments_are_a_list_or_a_table() {
        let call = arguments(Answer::Value(json!([1, "a"]))).unwrap();
        assert_eq!(call.args, [json!(1), json!("a")]);
        let call = arguments(Answer::Value(json!({"kwargs": {"a": 1}}))).unwrap();
        assert!(call.args.is_empty() && call.kwargs["a"] == json!(1));
        for wrong in [json!(1), json!({"args": 1}), json!({"more": []})] {
            assert!(arguments(Answer::Value(wrong)).is_err());
        }
    }

    #[test]
    fn both_raise_the_same_or_return_the_same() {
        let raised = |name: &str| Answer::Raised {
            types: vec![name.to_owned(), "Exception".to_owned()],
            message: String::new(),
        };
        assert_eq!(
            objection(&raised("KeyError"), &raised("KeyError"), 0.0),
            None
        );
        assert!(objection(&raised("KeyError"), &raised("ValueError"), 0.0).is_some());
        assert!(objection(&raised("KeyError"), &Answer::Value(json!(1)), 0.0).is_some());
        assert_eq!(
            objection(
                &Answer::Value(json!(1.0)),
                &Answer::Value(json!(1.001)),
                0.01
            ),
            None
        );
    }
}
