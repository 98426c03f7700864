//! `file-size`: no selected file is larger than so many bytes. Binary files count too.

use probity_guest::{CheckDef, CheckError, ParamError, Params, Place, Report, Selection, Tree};

/// Name, summary and parameters.
pub fn def() -> CheckDef {
    CheckDef::new(
        "file-size",
        "no selected file is larger than the limit; binary files count too",
    )
    .selects_files()
    .required("max-bytes", "largest size in bytes")
}

/// The check.
///
/// # Errors
/// When a parameter is malformed or the tree cannot be read.
pub fn check(tree: &Tree, params: &Params, report: &mut Report) -> Result<(), CheckError> {
    let name = "max-bytes";
    let limit = params.count(name)?.ok_or_else(|| ParamError::Missing {
        name: name.to_owned(),
    })?;
    Selection::from_params(params)?.each_path(tree, report, |path, report| {
        let size = tree.size(path)?;
        if size > limit {
            report.error(
                Place::file(path),
                format!("has {size} bytes, allowed are {limit}"),
            );
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use crate::harness::findings;

    #[test]
    fn the_limit_itself_is_allowed() {
        let tree = [("a", "12345"), ("b/c", "\x0012345")];
        assert!(findings(&tree, "file-size", r#"{"paths": "**", "max-bytes": 6}"#).is_empty());
        assert_eq!(
            findings(&tree, "file-size", r#"{"paths": "**", "max-bytes": 5}"#),
            ["error b/c has 6 bytes, allowed are 5"]
        );
        assert_eq!(
            findings(&tree, "file-size", r#"{"paths": "**", "max-bytes": "5"}"#),
            ["refused: parameter `max-bytes` is a string, expected a whole number from 0"]
        );
        assert_eq!(
            findings(
                &tree,
                "file-size",
                r#"{"paths": "docs/**", "max-bytes": 5}"#
            ),
            ["error no file matches `paths` (docs/**), so nothing was checked"]
        );
    }
}
