//! `file-exists`: certain files are there, or certain paths are free.
//!
//! A folder or a symbolic link is no file. With `absent`, whatever is at the path
//! offends, of any kind.

use probity_guest::{CheckDef, CheckError, EntryKind, Params, Place, Report, Tree};

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new("file-exists", "a regular file is at every one of the paths")
        .required(
            "path",
            "one path or a list of paths, from the root of the repository; no globs",
        )
        .optional(
            "absent",
            "turns the check around: nothing may be at the paths; default false",
        )
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let absent = params.flag("absent")?;
    for path in params.texts("path")? {
        match (tree.kind(path)?, absent) {
            (Some(EntryKind::File), false) | (None, true) => {}
            (None, false) => report.error(Place::file(path), "does not exist"),
            (Some(kind), false) => {
                report.error(
                    Place::file(path),
                    format!("is {}, not a file", kind.words()),
                );
            }
            (Some(kind), true) => {
                report.error(
                    Place::file(path),
                    format!("is {}, but must not exist", kind.words()),
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    const TREE: &[(&str, &str)] = &[("src/a.py", ""), ("README.md", "")];

    #[test]
    fn every_path_has_to_be_a_file() {
        let run = |params| findings(TREE, "file-exists", params);
        assert!(run(r#"{"path": "src/a.py"}"#).is_empty());
        assert_eq!(
            run(r#"{"path": ["README.md", "LICENSE", "src", "README.md/x"]}"#),
            [
                "error LICENSE does not exist",
                "error src is a folder, not a file",
                "error README.md/x does not exist",
            ]
        );
    }

    #[test]
    fn absent_turns_it_around() {
        let run = |params| findings(TREE, "file-exists", params);
        assert!(run(r#"{"path": ["conftest.py", "src/b.py"], "absent": true}"#).is_empty());
        assert_eq!(
            run(r#"{"path": ["src", "README.md"], "absent": true}"#),
            [
                "error src is a folder, but must not exist",
                "error README.md is a file, but must not exist"
            ]
        );
    }

    #[test]
    fn a_path_out_of_the_repository_is_refused() {
        assert_eq!(
            findings(
                TREE,
                "file-exists",
                r#"{"path": "/etc/passwd", "absent": true}"#
            ),
            [
                r#"refused: the path "/etc/passwd" is absolute; paths start at the root of the repository"#
            ]
        );
    }
}
