//! Wrong requests: exit code 2 and a message that names the place and the next step.

use crate::project::Project;

#[test]
fn errors_in_a_spec_point_at_line_and_column() {
    let project = Project::new(&[(
        "probity.toml",
        r#"version = 1
[guard]
max-flies = 3
[budget]
fule = "1G"
[[check]]
name = "a"
kind = "file-exist"
path = "x"
[[check]]
name = "b"
kind = "file-contains"
path = "../x"
pattern = "("
"#,
    )]);
    let ran = project.run(&["verify", "--repo", "repo"]);
    insta::assert_snapshot!("spec_errors", ran.text());
}

#[test]
fn missing_things_are_named() {
    let project = Project::new(&[]);
    for (name, args) in [
        ("repository", &["verify", "--repo", "nowhere"][..]),
        (
            "patch",
            &["verify", "--repo", "repo", "--patch", "nowhere.diff"],
        ),
        (
            "spec",
            &["verify", "--repo", "repo", "--spec", "nowhere.toml"],
        ),
        (
            "format",
            &["apply", "--repo", "repo", "--format", "edit", "-"],
        ),
        ("runtime", &["runtime", "add", "pyhton"]),
        ("pack", &["pack", "list", "nothing"]),
        ("command", &["verfy"]),
    ] {
        let ran = project.run(args);
        assert_eq!(ran.code, 2, "{name}: {}", ran.text());
        assert!(!ran.stderr.is_empty(), "{name}");
        insta::assert_snapshot!(format!("missing_{name}"), ran.text());
    }
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let project = Project::new(&[]);
    let help = project.run(&["--help"]);
    assert_eq!(help.code, 0);
    assert!(help.stdout.contains("Exit codes:"));
    for command in ["verify", "apply", "init"] {
        let ran = project.run(&[command, "--help"]);
        assert!(ran.stdout.contains("Examples:"), "{command}");
    }
}
