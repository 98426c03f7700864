//! Commands: named templates that expand to specs, and what a parameter cannot do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

use std::collections::BTreeMap;

use probity_core::commands::{Command, CommandError, Param, Registry};
use probity_core::spec::{CheckKind, Spec};

fn arguments(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn expand(name: &str, pairs: &[(&str, &str)]) -> Result<Spec, CommandError> {
    Registry::built_in().expand(name, &arguments(pairs), &|_| Err("no files".into()))
}

const GREET: [(&str, &str); 3] = [
    ("module", "util.py"),
    ("name", "greet"),
    ("returns", "f\"Hi {name}\""),
];

#[test]
fn built_in_commands_are_well_formed() {
    let mut registry = Registry::new();
    for command in Registry::built_in().commands() {
        registry.add(command.clone()).unwrap();
    }
}

#[test]
fn add_function_expands_to_three_checks() {
    let spec = expand("add-function", &GREET).unwrap();
    assert!(spec.description.contains("`greet`"));
    assert_eq!(spec.guard.allow(), ["util.py"]);
    let kinds: Vec<String> = spec
        .checks
        .iter()
        .map(|check| check.kind.name().to_string())
        .collect();
    assert_eq!(kinds, ["file-exists", "pack", "file-contains"]);
    let CheckKind::FileContains(wanted) = &spec.checks[2].kind else {
        panic!("the third check looks for the expression");
    };
    assert!(wanted.pattern.is_match(b"    return f\"Hi {name}\"\n"));
}

#[test]
fn what_is_wrong_with_a_call_is_structured() {
    let named = |error: CommandError| match error {
        CommandError::UnknownCommand { name, nearest } => (name, nearest),
        CommandError::UnknownParameter { name, nearest, .. } => (name, nearest),
        CommandError::MissingParameters { names, .. } => (names.join(" "), None),
        CommandError::InvalidValue { name, reason, .. } => (name, Some(reason.to_owned())),
        CommandError::Malformed { reason, .. } => (reason, None),
        CommandError::Spec(errors) => (errors.to_string(), None),
    };
    let failed = |name: &str, pairs: &[(&str, &str)]| named(expand(name, pairs).unwrap_err());
    let long = "x".repeat(5000);
    for (name, pairs, expected, more) in [
        (
            "add-functoin",
            &GREET[..],
            "add-functoin",
            Some("add-function"),
        ),
        ("deploy", &GREET[..], "deploy", None),
        ("add-function", &GREET[..1], "name returns", None),
        (
            "add-function",
            &[("modul", "x")][..],
            "modul",
            Some("module"),
        ),
        (
            "add-function",
            &[("module", "")][..],
            "module",
            Some("is empty"),
        ),
        (
            "add-function",
            &[("module", "a\nb")][..],
            "module",
            Some("holds a control character"),
        ),
        (
            "add-function",
            &[("module", long.as_str())][..],
            "module",
            Some("is longer than 4096 bytes"),
        ),
    ] {
        let (found, hint) = failed(name, pairs);
        assert_eq!((found.as_str(), hint.as_deref()), (expected, more));
    }
    let mut outside = GREET;
    outside[0].1 = "../util.py";
    let (message, _) = failed("add-function", &outside);
    assert!(
        message.contains("add-function:10:8: path `../util.py` is refused"),
        "{message}"
    );
}

#[test]
fn a_parameter_cannot_add_keys_or_widen_what_is_allowed() {
    let mut hostile = GREET;
    hostile[2].1 = "1\"\n[guard]\nallow = [\"**\"]\nx = \"";
    assert!(
        expand("add-function", &hostile).is_err(),
        "line breaks are refused"
    );
    hostile[2].1 = "1\" # { } [guard] {{name}} \\n \\u0022";
    let spec = expand("add-function", &hostile).unwrap();
    assert_eq!(spec.guard.allow(), ["util.py"]);
    let CheckKind::FileContains(wanted) = &spec.checks[2].kind else {
        panic!("the third check looks for the expression");
    };
    assert!(
        wanted
            .pattern
            .is_match(b"return 1\" # { } [guard] {{name}} \\n \\u0022")
    );

    let mut wide = GREET;
    wide[0].1 = "**";
    let spec = expand("add-function", &wide).unwrap();
    let allows = |path: &str| spec.guard.check_path(&path.parse().unwrap()).is_ok();
    assert!(allows("**") && !allows("util.py") && !allows("a/b"));
}

fn command(template: &str, params: &[&str]) -> Command {
    Command {
        name: "mine".into(),
        about: "a test".into(),
        params: params
            .iter()
            .map(|name| Param {
                name: (*name).to_owned(),
                about: String::new(),
            })
            .collect(),
        template: template.into(),
    }
}

#[test]
fn patterns_take_parameters_literally() {
    let template = "version = 1\n[[check]]\nname = 'a'\nkind = 'file-contains'\npath = 'a'\n\
        pattern = '^{{x}}$'\n\
        [[check]]\nname = 'b'\nkind = 'pack'\npack = 'text'\ncheck = 'c'\n\
        params = { paths = ['{{ x | glob }}'], re = '{{x|regex}}', plain = '{{x}}' }\n";
    let mut registry = Registry::new();
    registry.add(command(template, &["x"])).unwrap();
    let spec = registry
        .expand("mine", &arguments(&[("x", "a.*")]), &|_| Err(String::new()))
        .unwrap();
    let CheckKind::FileContains(wanted) = &spec.checks[0].kind else {
        panic!("the first check looks for a pattern");
    };
    assert!(wanted.pattern.is_match(b"a.*") && !wanted.pattern.is_match(b"abc"));
    let CheckKind::Pack(pack) = &spec.checks[1].kind else {
        panic!("the second check is of a pack");
    };
    assert_eq!(
        serde_json::to_string(&pack.params).unwrap(),
        r#"{"paths":["a.[*]"],"plain":"a.*","re":"a\\.\\*"}"#
    );
}

#[test]
fn malformed_commands_are_not_registered() {
    for (template, params, reason) in [
        (
            "version = 1\ndescription = '{{x}}'",
            &[][..],
            "`x` is no parameter of it",
        ),
        ("version = 1", &["x"][..], "the template does not use `x`"),
        (
            "a = '{{x}}'",
            &["x", "x"][..],
            "a parameter is declared twice",
        ),
        ("a = '{{x'", &["x"][..], "`{{` without `}}`"),
        (
            "a = '{{x|sql}}'",
            &["x"][..],
            "`sql` is no filter (regex, glob)",
        ),
        ("'{{x}}' = 'a'", &["x"][..], "a key holds a placeholder"),
        ("a = 1", &["X"][..], "`X` is not a name"),
    ] {
        let error = Registry::new().add(command(template, params)).unwrap_err();
        let CommandError::Malformed { reason: found, .. } = error else {
            panic!("{template}: {error}");
        };
        assert_eq!(found, reason);
    }
    let mut registry = Registry::built_in();
    let mut taken = command("a = '{{x}}'", &["x"]);
    taken.name = "add-function".into();
    assert!(
        registry
            .add(taken)
            .unwrap_err()
            .to_string()
            .contains("its name is taken")
    );
    let error = registry.add(command("a = ", &[])).unwrap_err();
    assert!(matches!(error, CommandError::Spec(_)), "{error}");
}
