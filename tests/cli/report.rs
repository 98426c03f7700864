//! `probity verify --report`: files and standard output, in every form, whatever the tests
//! print. Whether other programs read them is tried by `cargo xtask reports`.

use std::fs;

use crate::project::{Project, Ran};

const SPEC: &str = r#"
version = 1
[[check]]
name = "readme"
kind = "file-exists"
path = "README.md"
[[check]]
name = "license # 1"
kind = "file-exists"
path = "LICENSE"
[[check]]
name = "small"
kind = "diff"
max-files = 1
"#;

fn project() -> Project {
    Project::new(&[("README.md", "# Greeter\n"), ("probity.toml", SPEC)])
}

/// The sample of `cargo xtask reports`, where tests do everything that could harm a report.
fn nasty(reports: &[&str]) -> (Project, Ran) {
    let sample = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reports");
    let project = Project::new(&[]);
    let spec = sample.join("probity.toml");
    let mut args = vec!["verify", "--repo", sample.to_str().unwrap()];
    args.extend(["--spec", spec.to_str().unwrap()]);
    for report in reports {
        args.extend(["--report", report]);
    }
    let ran = project.run(&args);
    (project, ran)
}

fn without_fuel(text: &str) -> String {
    let fuel = regex::Regex::new(r#"(fuel" value="|fuel: |duration_ns: )\d+"#).unwrap();
    let time = regex::Regex::new(r#"time="[0-9.]+""#).unwrap();
    let tree = regex::Regex::new("sha256:[0-9a-f]{64}").unwrap();
    let text = fuel.replace_all(text, "$1[fuel]");
    let text = time.replace_all(&text, "time=\"[time]\"");
    tree.replace_all(&text, "[tree]").into_owned()
}

#[test]
fn reports_go_to_files_and_one_to_standard_output() {
    let project = project();
    let ran = project.run(&[
        "verify",
        "--repo",
        "repo",
        "--report",
        "junit=report.xml",
        "--report",
        "tap",
        "--report",
        "json=report.json",
        "--report",
        "human=report.txt",
    ]);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert_eq!(ran.stderr, "");
    insta::assert_snapshot!("report_tap", without_fuel(&ran.stdout));
    let read = |name: &str| fs::read_to_string(project.root().join(name)).unwrap();
    insta::assert_snapshot!("report_junit", without_fuel(&read("report.xml")));
    assert!(read("report.txt").contains("verdict: failed"));
    let document: serde_json::Value = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(document["schema"], "probity.verdict/1");
    // Without a report for standard output it is the one for people.
    let ran = project.run(&["verify", "--repo", "repo", "--report", "tap=other.tap"]);
    assert!(ran.stdout.contains("verdict: failed"), "{}", ran.stdout);
    assert_eq!(read("other.tap"), without_wall(&read("other.tap")));
}

/// TAP holds nothing of real time.
fn without_wall(text: &str) -> String {
    text.lines()
        .filter(|line| !line.contains("wall"))
        .flat_map(|line| [line, "\n"])
        .collect()
}

#[test]
fn requests_that_cannot_be_met_are_told_before_anything_is_judged() {
    let project = project();
    for (reports, told) in [
        (vec!["--report", "tap", "--json"], "only one report"),
        (
            vec!["--report", "tap", "--report", "junit=-"],
            "only one report",
        ),
        (
            vec!["--report", "tap=a", "--report", "junit=a"],
            "two reports cannot go to one file",
        ),
        (vec!["--report", "xml"], "no form of report"),
        (vec!["--report", "junit="], "file's name is missing"),
    ] {
        let mut args = vec!["verify", "--repo", "repo"];
        args.extend(&reports);
        let ran = project.run(&args);
        assert_eq!(ran.code, 2, "{reports:?}: {}", ran.text());
        assert!(ran.stderr.contains(told), "{reports:?}: {}", ran.stderr);
    }
}

#[test]
fn a_report_that_cannot_be_written_is_our_failure_and_names_the_file() {
    let project = project();
    project.write("old.xml", "old");
    let ran = project.run(&[
        "verify",
        "--repo",
        "repo",
        "--report",
        "junit=none/report.xml",
        "--report",
        "tap=ok.tap",
    ]);
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.stderr.contains("none/report.xml"), "{}", ran.stderr);
    // What can be told is told nevertheless.
    assert!(ran.stdout.contains("verdict: failed"), "{}", ran.stdout);
    assert!(project.root().join("ok.tap").exists());
    // A refused patch has no verdict, so a report stays as it is.
    project.write(
        "patch",
        r#"{"edits": [{"path": "README.md", "old": "absent", "new": "x"}]}"#,
    );
    let ran = project.run(&[
        "verify",
        "--repo",
        "repo",
        "--patch",
        "patch",
        "--report",
        "junit=old.xml",
    ]);
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert_eq!(
        fs::read_to_string(project.root().join("old.xml")).unwrap(),
        "old"
    );
}

#[test]
fn nothing_that_tests_print_breaks_out_of_a_report() {
    let files = ["junit=r.xml", "tap=r.tap", "json=r.json", "human=r.txt"];
    let (project, ran) = nasty(&files);
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert_eq!(
        ran.stderr, "",
        "nothing of progress where there is no terminal"
    );
    for name in ["r.xml", "r.tap", "r.json", "r.txt"] {
        let text = fs::read_to_string(project.root().join(name)).unwrap();
        let turns = |c: char| matches!(c, '\u{2028}'..='\u{202e}' | '\u{feff}');
        let odd = |c: char| turns(c) || (c.is_control() && c != '\n' && c != '\t');
        assert_eq!(text.find(odd), None, "{name}");
        for line in text.lines() {
            assert!(!line.trim_start().starts_with("::"), "{name}: {line}");
            for command in ["##[", "##vso[", "##teamcity["] {
                assert!(!line.contains(command), "{name}: {line}");
            }
        }
    }
    let tap = fs::read_to_string(project.root().join("r.tap")).unwrap();
    // Every line is of our own making: what is foreign stands behind a name or in quotes.
    let ours = regex::Regex::new(
        r#"^(TAP version 14|# assurance: .+|( {4})?1\.\.\d+|# Subtest: .+|( {4})?(not )?ok \d+ - .+|( {4})?  (---|\.\.\.|[a-z_]+:( \d+| ".*")?|  - ".*"))$"#,
    )
    .unwrap();
    for line in tap.lines() {
        assert!(ours.is_match(line), "{line}");
    }
    insta::assert_snapshot!("report_nasty_tap", without_fuel(&tap));
    let xml = fs::read_to_string(project.root().join("r.xml")).unwrap();
    insta::assert_snapshot!("report_nasty_junit", without_fuel(&xml));
    insta::assert_snapshot!("report_nasty_human", without_fuel(&ran.text()));
    // The same again, but for real time.
    let (again, _) = nasty(&files);
    for name in ["r.xml", "r.tap"] {
        let bytes = |project: &Project| fs::read(project.root().join(name)).unwrap();
        assert_eq!(bytes(&again), bytes(&project), "{name}");
    }
}

#[test]
fn a_report_is_red_exactly_where_the_verdict_is() {
    // One expected test is skipped, which fails; one that is not expected fails, which does
    // not matter.
    let tests = "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_wanted():\n    \
        pass\n\n\ndef test_other():\n    assert False\n\n\ndef test_good():\n    pass\n";
    let spec = |ids: &str| {
        format!(
            "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\n\
             args = [\"tests\"]\nexpect = [{ids}]\n"
        )
    };
    let good = "\"tests/test_a.py::test_good\"";
    let both = format!("{good}, \"tests/test_a.py::test_wanted\"");
    for (ids, code, red, tap_red) in [(good, 0, 0, 0), (&both, 1, 1, 2)] {
        let project = Project::new(&[("tests/test_a.py", tests), ("probity.toml", &spec(ids))]);
        let ran = project.run(&["verify", "--repo", "repo", "--report", "junit"]);
        assert_eq!(ran.code, code, "{}", ran.text());
        let count = ran.stdout.matches("<failure").count() + ran.stdout.matches("<error").count();
        assert_eq!(count, red, "{}", ran.stdout);
        let ran = project.run(&["verify", "--repo", "repo", "--report", "tap"]);
        let not_ok = ran
            .stdout
            .lines()
            .filter(|line| line.trim_start().starts_with("not ok") && !line.contains("# TODO"));
        assert_eq!(not_ok.count(), tap_red, "{}", ran.stdout);
    }
}
