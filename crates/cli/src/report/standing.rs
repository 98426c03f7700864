//! How each test of a suite stands in reports for machines: red exactly if it keeps the
//! suite from passing, whatever the runner said.

use probity_core::verify::{TestOutcome, TestReport};

/// How a test stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It passed.
    Passed,
    /// It keeps the suite from passing: an assertion, or something that did not happen.
    Failed,
    /// It keeps the suite from passing: it broke, was ended or never ran.
    Broke,
    /// It did not run, as it wished, and need not have.
    Skipped,
    /// It failed and may: marked as expected to fail, or of no weight for this suite.
    Excused,
}

/// How `test` stands.
pub(super) const fn standing(test: &TestReport) -> Standing {
    let fails = test.is_failure();
    match test.outcome {
        TestOutcome::Passed => Standing::Passed,
        TestOutcome::XPassed if !fails => Standing::Passed,
        TestOutcome::Skipped if !fails => Standing::Skipped,
        TestOutcome::Failed
        | TestOutcome::Flaky
        | TestOutcome::XPassed
        | TestOutcome::XFailed
        | TestOutcome::Skipped
            if fails =>
        {
            Standing::Failed
        }
        TestOutcome::Error | TestOutcome::Incomplete | TestOutcome::Missing if fails => {
            Standing::Broke
        }
        TestOutcome::XPassed
        | TestOutcome::XFailed
        | TestOutcome::Skipped
        | TestOutcome::Missing
        | TestOutcome::Incomplete
        | TestOutcome::Flaky
        | TestOutcome::Failed
        | TestOutcome::Error => Standing::Excused,
    }
}

/// What happened, in one line: of a traceback the line that pytest marks as the first that
/// failed, else its last line. Untrusted.
pub(super) fn headline(test: &TestReport) -> String {
    if let (TestOutcome::Flaky, Some(message)) = (test.outcome, &test.message) {
        // Which runs ended how stands above the message of one of them.
        return message.lines().next().unwrap_or_default().to_owned();
    }
    if let Some(message) = &test.message {
        let marked = first_failing(message).map(|(_, line)| line);
        let line = marked.or_else(|| message.lines().rev().find(|line| !line.trim().is_empty()));
        if let Some(line) = line {
            return line.trim().to_owned();
        }
    }
    let what = match test.outcome {
        TestOutcome::Missing => "expected, but never reported".to_owned(),
        TestOutcome::Incomplete => "started, but never ended".to_owned(),
        TestOutcome::XPassed | TestOutcome::XFailed | TestOutcome::Skipped if test.expected => {
            format!("expected to pass, but {}", test.outcome)
        }
        TestOutcome::Passed
        | TestOutcome::XPassed
        | TestOutcome::XFailed
        | TestOutcome::Skipped
        | TestOutcome::Flaky
        | TestOutcome::Failed
        | TestOutcome::Error => test.outcome.as_str().to_owned(),
    };
    match &test.reason {
        Some(reason) => format!("{what}: {}", reason.lines().next().unwrap_or_default()),
        None => what,
    }
}

/// The line of a traceback that tells the failed assertion, with its place among the lines.
pub(super) fn first_failing(message: &str) -> Option<(usize, &str)> {
    message.lines().enumerate().find_map(|(at, line)| {
        let marked = line.strip_prefix('E')?;
        (marked.starts_with("  ") && !marked.trim().is_empty()).then_some((at, marked.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(outcome: TestOutcome, expected: bool, decides: bool) -> TestReport {
        TestReport {
            expected,
            decides,
            ..TestReport::bare("t", outcome)
        }
    }

    #[test]
    fn red_is_what_keeps_the_suite_from_passing() {
        use TestOutcome::{Error, Failed, Incomplete, Missing, Passed, Skipped, XFailed, XPassed};
        for outcome in [
            Passed, XPassed, XFailed, Skipped, Missing, Incomplete, Failed, Error,
        ] {
            for (expected, decides) in [(true, true), (false, true), (false, false)] {
                let test = test(outcome, expected, decides);
                let red = matches!(standing(&test), Standing::Failed | Standing::Broke);
                assert_eq!(red, test.is_failure(), "{outcome} {expected} {decides}");
            }
        }
        assert_eq!(standing(&test(Skipped, true, true)), Standing::Failed);
        assert_eq!(standing(&test(Failed, false, false)), Standing::Excused);
        assert_eq!(standing(&test(XPassed, false, true)), Standing::Passed);
    }

    #[test]
    fn a_headline_is_the_first_line_that_failed() {
        let mut failed = test(TestOutcome::Failed, true, true);
        failed.message = Some(
            ">   assert 1 == 2\nE       assert 1 == 2\nE        +  x\n\na.py:3: AssertionError\n"
                .to_owned(),
        );
        assert_eq!(headline(&failed), "assert 1 == 2");
        failed.message = Some("boom\nlast\n\n".to_owned());
        assert_eq!(headline(&failed), "last");
        let mut skipped = test(TestOutcome::Skipped, true, true);
        skipped.reason = Some("no net".to_owned());
        assert_eq!(headline(&skipped), "expected to pass, but skipped: no net");
    }
}
