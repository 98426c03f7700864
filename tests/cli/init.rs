//! `probity init`: a spec that holds on the repository it is written for.

use crate::project::Project;

#[test]
fn the_spec_is_commented_and_holds() {
    let project = Project::new(&[
        ("src/a.rs", "fn main() {}\n"),
        ("web/a.ts", "export const a: number = 1;\n"),
        ("tests/no-newline.txt", "x"),
    ]);
    let ran = project.run(&["init", "--repo", "repo"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    insta::assert_snapshot!("init_spec", project.read("probity.toml"));
    let verdict = project.run(&["verify", "--repo", "repo"]);
    assert_eq!(verdict.code, 0, "{}", verdict.text());
    let again = project.run(&["init", "--repo", "repo"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
}

#[test]
fn python_projects_get_their_suite() {
    let project = Project::new(&[
        ("src/pkg/__init__.py", ""),
        ("tests/test_a.py", "def test_a():\n    pass\n"),
    ]);
    let ran = project.run(&["init", "--repo", "repo", "--stdout"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("runner = \"pytest\""));
    assert!(ran.stdout.contains("python-path = [\"src\", \".\"]"));
    assert!(!project.repo().join("probity.toml").exists());
}
