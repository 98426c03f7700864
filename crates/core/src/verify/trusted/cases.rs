//! What honest patches and others come to, path by path.

use std::collections::BTreeSet;

use super::importable::tests::{repo, suite};
use super::lay::{LISTED, put};
use super::{Laid, Trusting, lay_trusted};
use crate::Repo;
use crate::repo::{File, RepoPath};
use crate::spec::{SuiteCheck, TestsFrom};
use crate::verify::{Level, VerifyInput};

/// What a patch does to a file.
#[derive(Clone, Copy)]
enum Do<'a> {
    Write(&'a str, &'a str),
    Link(&'a str, &'a str),
    Delete(&'a str),
}
use Do::{Delete, Link, Write};

const BASE: &[&str] = &[
    "src/pkg/__init__.py",
    "src/pkg/testing.py",
    "src/Pkg.egg-info/PKG-INFO",
    "conftest.py",
    "pyproject.toml",
    "tests/conftest.py",
    "tests/helpers.py",
    "tests/test_a.py",
    "tests/test_b.py",
    "tests/data/a.json",
];

fn base() -> Repo {
    let mut tree = repo(BASE);
    let toml = b"[project]\nversion = '1'\n[tool.pytest.ini_options]\naddopts = '-q'\n";
    tree.insert(&path("pyproject.toml"), File::regular(*toml))
        .unwrap();
    tree
}

fn path(text: &str) -> RepoPath {
    text.parse().unwrap()
}

fn patched(changes: &[Do<'_>]) -> Repo {
    let mut tree = base();
    for change in changes {
        match change {
            Write(at, text) => put(&mut tree, &path(at), File::regular(text.as_bytes())),
            Link(at, target) => put(
                &mut tree,
                &path(at),
                File::new(target.as_bytes(), crate::repo::FileMode::Symlink),
            ),
            Delete(at) => {
                for (inside, _) in tree.clone().files() {
                    if inside == path(at) || inside.is_below(&path(at)) {
                        tree.remove(&inside);
                    }
                }
            }
        }
    }
    tree
}

fn wanted() -> SuiteCheck {
    SuiteCheck {
        python_path: vec!["src".to_owned(), ".".to_owned()],
        ..suite(&["tests"])
    }
}

fn lay(changes: &[Do<'_>], wanted: &SuiteCheck, folder: Option<&Repo>) -> (Repo, Laid) {
    let (base, repo) = (base(), patched(changes));
    let input = VerifyInput {
        repo: &repo,
        base: Some(&base),
    };
    let installed = BTreeSet::from(["attr".to_owned()]);
    let trusting = Trusting {
        folder,
        installed: &installed,
    };
    let laid = lay_trusted(input, wanted, trusting).unwrap();
    (repo, laid)
}

fn named(laid: &Laid) -> Vec<&str> {
    laid.findings
        .iter()
        .map(|finding| {
            assert_eq!(finding.level, Level::Warning);
            finding.path.as_deref().unwrap()
        })
        .collect()
}

#[test]
fn honest_patches_are_left_as_they_are() {
    for changes in [
        &[
            Write("src/pkg/__init__.py", "x"),
            Write("src/pkg/testing.py", "x"),
        ][..],
        &[
            Write("src/pkg/json.py", "x"),
            Write("src/pkg/typing/__init__.py", ""),
        ],
        &[
            Write("tests/test_new.py", "x"),
            Write("tests/data/b.json", "x"),
        ],
        &[
            Write("tests/more/__init__.py", ""),
            Write("tests/more/test_x.py", ""),
        ],
        &[Write("tests/test_a/data.json", "x")],
        &[Write("tests/typing/test_x.py", "x")],
        &[
            Write("src/other/__init__.py", ""),
            Write("docs/conf.py", ""),
        ],
        &[Write("calendar/page.html", ""), Write("test/test_x.py", "")],
        &[Write("src/Pkg.egg-info/PKG-INFO", "Version: 2")],
        &[Write(
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = '-q'\n[project]\nversion = '2'\n",
        )],
        &[
            Write("setup.cfg", "[metadata]\nname = x\n"),
            Write("tox.ini", "[tox]\n"),
        ],
        &[Write("docs/a.pth.md", ""), Write("tests/x.pth", "")],
        &[Delete("src/pkg/testing.py")],
    ] {
        let (repo, laid) = lay(changes, &wanted(), None);
        assert_eq!(named(&laid), Vec::<&str>::new());
        assert_eq!(laid.repo, repo);
    }
}

#[test]
fn tests_of_the_base_are_restored() {
    let changes = [
        Write("tests/test_a.py", "def test(): pass"),
        Delete("tests/test_b.py"),
        Write("tests/helpers.py", "x"),
        Write("tests/data/a.json", "x"),
        Write("tests/test_new.py", "x"),
    ];
    let (_, laid) = lay(&changes, &wanted(), None);
    assert_eq!(
        named(&laid),
        [
            "tests/data/a.json",
            "tests/helpers.py",
            "tests/test_a.py",
            "tests/test_b.py"
        ]
    );
    assert!(laid.findings[3].message.contains("deleted this test"));
    assert!(
        laid.findings[0]
            .message
            .contains("`tests-from = \"patched\"`")
    );
    let mut expected = base();
    put(
        &mut expected,
        &path("tests/test_new.py"),
        File::regular(*b"x"),
    );
    assert_eq!(laid.repo, expected);

    let mut own = wanted();
    own.trust.tests_from = TestsFrom::Patched;
    let (repo, laid) = lay(&changes, &own, None);
    assert!(laid.findings.is_empty());
    assert_eq!(laid.repo, repo);
}

#[test]
fn whatever_stands_in_the_way_gives_way() {
    for changes in [
        &[Delete("tests"), Write("tests", "a file")][..],
        &[Delete("tests"), Link("tests", "src/pkg")],
        &[Write("tests/test_a.py/x/y", "a folder")],
        &[Delete("tests/data"), Link("tests/data", "/tmp")],
    ] {
        let (_, laid) = lay(changes, &wanted(), None);
        for (at, file) in base().files() {
            assert_eq!(laid.repo.get(&at), Some(file), "{at}");
        }
    }
}

#[test]
fn what_steers_is_pinned() {
    let options = "[tool.pytest.ini_options]\naddopts = '-p evil'\n";
    for (changes, begins) in [
        (&[Write("conftest.py", "x")][..], "it can decide how tests"),
        (
            &[Write("src/pkg/conftest.py", "x")],
            "it can decide how tests",
        ),
        (&[Delete("tests/conftest.py")], "it can decide how tests"),
        (&[Write("tests/conftest/__init__.py", "")], "it can decide"),
        (&[Write("tests/pytest.ini", "")], "it can load plugins"),
        (&[Write(".pytest.toml", "")], "it can load plugins"),
        (&[Write("pyproject.toml", options)], "its table"),
        (&[Write("tests/pyproject.toml", options)], "its table"),
        (&[Delete("pyproject.toml")], "its table"),
        (
            &[Write("tox.ini", "[pytest]\naddopts = x\n")],
            "its section",
        ),
        (&[Write("setup.cfg", "[tool:pytest]\n")], "its section"),
        (&[Write("src/x.pth", "import x")], "it is run as soon"),
        (&[Write("sitecustomize.py", "")], "it is run as soon"),
        (
            &[Write("src/usercustomize/__init__.py", "")],
            "it is run as soon",
        ),
        (
            &[Write("evil-1.DIST-INFO/entry_points.txt", "")],
            "its entry points",
        ),
        (
            &[Write("src/Pkg.egg-info/entry_points.txt", "")],
            "its entry points",
        ),
        (
            &[Write("src/pkg/__pycache__/a.cpython-315.pyc", "")],
            "it can be run instead",
        ),
        (&[Write("tests/test_a.pyc", "")], "it can be run instead"),
        (
            &[Write("json.py", "")],
            "it would be imported as `json`, a name of the st",
        ),
        (
            &[Write("src/_pytest/x.py", "")],
            "it would be imported as `_pytest`",
        ),
        (
            &[Link("src/attr", "pkg")],
            "it would be imported as `attr`, a name of an",
        ),
        (
            &[Write("src/helpers.py", "")],
            "it would be imported as `helpers`",
        ),
        (
            &[Write("tests/decimal.py", "")],
            "it would be imported as `decimal`",
        ),
        (
            &[Write("tests/test_a/__init__.py", "")],
            "it would be imported as `test_a`",
        ),
        (
            &[Write("tests/__init__.py", "")],
            "it decides under which names",
        ),
        (
            &[Delete("src"), Link("src", "evil"), Write("evil/x.py", "")],
            "modules would",
        ),
    ] {
        let (_, laid) = lay(changes, &wanted(), None);
        let names = named(&laid);
        let finding = &laid.findings[0].message;
        assert_eq!(names.len(), 1, "{names:?}");
        assert!(finding.starts_with("steering: "), "{finding}");
        assert!(finding.contains(begins), "{begins}: {finding}");
        let at = path(names[0]);
        assert_eq!(laid.repo.get(&at), base().get(&at), "{at}");
        // The line that the finding names allows it, and nothing else does.
        let (_, line) = finding.split_once("allow-steering = [\"").unwrap();
        let (line, _) = line.split_once("\"]").unwrap();
        let mut allowing = wanted();
        allowing.trust.allow_steering = vec!["python:a.b".to_owned(), line.to_owned()];
        let (repo, laid) = lay(changes, &allowing, None);
        assert!(laid.findings.is_empty(), "{at}: {:?}", laid.findings);
        assert_eq!(laid.repo, repo);
        assert!(!laid.sealed.contains(&at));
    }
}

#[test]
fn what_a_steering_link_leads_to_is_pinned_too() {
    let mut base = base();
    base.remove(&path("conftest.py"));
    let link = File::new(*b"./src/../src/pkg/conf.py", crate::repo::FileMode::Symlink);
    put(&mut base, &path("conftest.py"), link);
    put(&mut base, &path("src/pkg/conf.py"), File::regular(*b"1"));
    let mut repo = base.clone();
    put(&mut repo, &path("src/pkg/conf.py"), File::regular(*b"2"));
    let laid = lay_trusted(
        VerifyInput {
            repo: &repo,
            base: Some(&base),
        },
        &wanted(),
        Trusting {
            folder: None,
            installed: &BTreeSet::new(),
        },
    )
    .unwrap();
    assert_eq!(named(&laid), ["src/pkg/conf.py"]);
    assert_eq!(laid.repo, base);
}

#[test]
fn a_folder_of_tests_is_laid_over_last() {
    let folder = repo(&[
        "tests/test_hidden.py",
        "tests/test_a.py",
        "tests/conftest.py",
    ]);
    let changes = [
        // Where a hidden test goes: a folder, a package that shadows it, and a file
        // where its folder goes.
        Write("tests/test_hidden.py/__init__.py", "x"),
        Write("tests/test_hidden/__init__.py", "x"),
        Write("tests/test_b.py", "weaker"),
        Write("tests/test_new.py", "x"),
    ];
    let mut given = wanted();
    given.trust.tests_from = TestsFrom::Folder("hidden".to_owned());
    let (_, laid) = lay(&changes, &given, Some(&folder));
    assert_eq!(
        named(&laid),
        [
            "tests/test_b.py",
            "tests/test_hidden/__init__.py",
            "tests/test_hidden.py"
        ]
    );
    for (at, file) in folder.files() {
        assert_eq!(laid.repo.get(&at), Some(file));
        assert!(laid.sealed.contains(&at));
    }
    assert_eq!(laid.repo.get(&path("tests/test_hidden/__init__.py")), None);
    assert!(laid.repo.get(&path("tests/test_new.py")).is_some());
    assert!(!laid.sealed.contains(&path("tests/test_new.py")));

    let (_, laid) = lay(
        &[Write("tests/test_hidden.py", "mine")],
        &given,
        Some(&folder),
    );
    assert_eq!(named(&laid), ["tests/test_hidden.py"]);
    let (_, laid) = lay(
        &[Delete("tests"), Write("tests", "x")],
        &given,
        Some(&folder),
    );
    assert!(laid.repo.get(&path("tests/test_hidden.py")).is_some());
}

#[test]
fn globs_say_what_is_a_test() {
    let mut listed = wanted();
    listed.trust.tests = Some(vec!["tests/test_*.py".to_owned(), "Checks".to_owned()]);
    let changes = [
        Write("tests/test_a.py", "x"),
        Write("tests/data/a.json", "x"),
        Write("src/pkg/testing.py", "x"),
    ];
    let (_, laid) = lay(&changes, &listed, None);
    assert_eq!(named(&laid), ["tests/test_a.py"]);
    let sealed: Vec<String> = laid.sealed.iter().map(ToString::to_string).collect();
    assert_eq!(
        sealed,
        [
            "conftest.py",
            "pyproject.toml",
            "tests/conftest.py",
            "tests/test_a.py",
            "tests/test_b.py"
        ]
    );
}

#[test]
fn without_a_patch_nothing_is_put_back() {
    let repo = base();
    let laid = lay_trusted(
        VerifyInput {
            repo: &repo,
            base: None,
        },
        &wanted(),
        Trusting {
            folder: None,
            installed: &BTreeSet::new(),
        },
    )
    .unwrap();
    assert!(laid.findings.is_empty());
    assert_eq!(laid.repo, repo);
    assert!(laid.sealed.contains(&path("tests/helpers.py")));
    assert!(!laid.sealed.contains(&path("tests/data/a.json")));
    assert!(!laid.sealed.contains(&path("src/pkg/testing.py")));
}

#[test]
fn many_findings_are_counted() {
    let texts: Vec<String> = (0..LISTED + 5)
        .map(|n| format!("d{n}/conftest.py"))
        .collect();
    let changes: Vec<Do<'_>> = texts.iter().map(|text| Write(text, "x")).collect();
    let (_, laid) = lay(&changes, &wanted(), None);
    assert_eq!(laid.findings.len(), LISTED + 1);
    assert!(laid.findings[LISTED].message.starts_with("5 more paths"));
}
