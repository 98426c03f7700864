//! `probity pack`: what packs hold, and single checks.

use crate::project::Project;

#[test]
fn packs_are_listed() {
    let project = Project::new(&[]);
    let ran = project.run(&["pack", "list"]);
    insta::assert_snapshot!("pack_list", ran.text());
    let json = project.run(&["pack", "list", "text", "--json"]).json();
    assert_eq!(json["schema"], "probity.packs/1");
    assert!(json["packs"]["text"].as_array().unwrap().len() >= 5);
}

#[test]
fn one_check_runs_by_itself() {
    let project = Project::new(&[("a.txt", "x"), ("b.py", "def f():\n    pass\n")]);
    let run = |args: &[&str]| {
        let mut all = vec!["pack", "run", "--repo", "repo"];
        all.extend(args);
        project.run(&all)
    };
    let failed = run(&["text", "final-newline", "--param", "paths=[\"**\"]"]);
    insta::assert_snapshot!("pack_run_failed", failed.text());
    let passed = run(&[
        "source",
        "defines",
        "--param",
        "path=b.py",
        "--param",
        "name=f",
    ]);
    assert_eq!(passed.code, 0, "{}", passed.text());
    let json = run(&[
        "text",
        "final-newline",
        "--param",
        "paths=[\"*.txt\"]",
        "--json",
    ]);
    assert_eq!(json.code, 1);
    assert_eq!(json.json()["findings"][0]["path"], "a.txt");
    let unknown = run(&["text", "final-newlines"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown.stderr.contains("final-newline"),
        "{}",
        unknown.stderr
    );
    let bad = run(&["text", "final-newline", "--param", "pathz=x"]);
    assert_eq!(bad.code, 1, "a check that breaks did not pass");
    assert!(bad.stdout.contains("pathz"), "{}", bad.stdout);
}
