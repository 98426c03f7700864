//! Environments, as the commands show them.

use crate::project::{Project, Ran};

const SUITE: &str = "version = 1\n[[check]]\nname = \"tests\"\nkind = \"suite\"\nrunner = \"pytest\"\nargs = [\"tests\"]\nexpect = \"any\"\n";

#[test]
fn a_suite_leaves_an_environment_that_is_listed() {
    let project = Project::new(&[
        ("probity.toml", SUITE),
        ("tests/test_one.py", "def test_one():\n    pass\n"),
    ]);
    let ran = project.run(&["verify", "--repo", "repo", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let used = ran.json()["checks"][0]["tests"]["environment"].clone();
    let list = project.run(&["env", "list", "--json"]).json();
    assert_eq!(list["schema"], "probity.environments/1");
    let row = list["environments"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["digest"] == used)
        .unwrap_or_else(|| panic!("{used} is not in {list:#}"));
    assert_eq!(row["title"], "python 3.15.0");
    let packages = row["packages"].as_array().unwrap();
    assert!(packages.iter().any(|name| name == "pytest==9.2.0"), "{row}");
    let key = row["key"].as_str().unwrap();
    let text = project.run(&["env", "list"]);
    assert!(text.stdout.contains(&key[..12]), "{}", text.text());
}

#[test]
fn what_was_kept_with_another_key_is_as_good_as_absent() {
    let project = Project::new(&[
        ("probity.toml", SUITE),
        ("tests/test_one.py", "def test_one():\n    pass\n"),
    ]);
    let run = |args: &[&str]| {
        let state = project.root().join("state");
        Ran::from(
            project
                .command(args)
                .env("PROBITY_STATE", state)
                .output()
                .unwrap(),
        )
    };
    let list = run(&["env", "list"]);
    assert_eq!(
        (list.code, list.stdout.as_str()),
        (0, ""),
        "{}",
        list.text()
    );
    let ran = run(&["verify", "--repo", "repo"]);
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.text().contains("is not installed"), "{}", ran.text());
}

#[test]
fn a_key_that_means_nothing_or_too_much_is_refused() {
    let project = Project::new(&[]);
    for (args, says) in [
        (&["env", "remove", "not-a-key"][..], "begins with"),
        (&["env", "remove"][..], "required"),
        (
            &["env", "build", "--runtime", "cobol"][..],
            "there is no runtime",
        ),
        (
            &["env", "build", "--lock", "absent.lock"][..],
            "cannot read the lock",
        ),
    ] {
        let ran = project.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.text());
        assert!(ran.text().contains(says), "{args:?}: {}", ran.text());
    }
}
