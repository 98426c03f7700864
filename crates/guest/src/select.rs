//! The files that a check looks at, chosen by globs.
//!
//! **Invariant.** A selection that matches nothing is an error finding unless the caller
//! allowed it: a check that looked at no file must not pass by accident, for instance
//! because of a misspelt glob or a patch that deletes the files.
//!
//! In a glob `*` and `?` stop at `/`, `**` crosses it, `{a,b}` and `[a-z]` work, a
//! leading dot is not special. Matching is case-sensitive and by the whole path.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::content::Content;
use crate::finding::{Place, Report};
use crate::pack::CheckError;
use crate::params::{ParamError, Params};
use crate::tree::{Tree, TreeError};

/// The names and descriptions of the parameters that [`Selection::from_params`] reads.
pub(crate) const PARAMS: [(&str, bool, &str); 3] = [
    (
        "paths",
        true,
        "globs of the files to look at: a string or a list of strings",
    ),
    (
        "exclude",
        false,
        "globs of files to leave out: a string or a list of strings",
    ),
    (
        "allow-empty",
        false,
        "pass when no file is left to look at; default false, which fails",
    ),
];

/// How much of a file past the size limit is read to tell whether it is binary.
const PROBE: u64 = 8 * 1024;

/// One file of a selection that is not binary.
#[derive(Clone, Debug)]
pub struct TextFile<'a> {
    /// Path from the repository's root.
    pub path: &'a str,
    /// What it holds.
    pub content: Content,
}

/// Globs that choose files: those that match `paths` and do not match `exclude`.
#[derive(Clone, Debug)]
pub struct Selection {
    include: GlobSet,
    exclude: GlobSet,
    wanted: String,
    empty: Empty,
}

/// What a selection without files means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Empty {
    Allowed,
    Fails,
}

impl Selection {
    /// Reads `paths`, `exclude` and `allow-empty`, which [`CheckDef::selects_files`] declares.
    ///
    /// [`CheckDef::selects_files`]: crate::CheckDef::selects_files
    ///
    /// # Errors
    /// When one of them is malformed.
    pub fn from_params(params: &Params) -> Result<Self, ParamError> {
        let wanted = params.texts("paths")?;
        Ok(Self {
            include: globs("paths", &wanted)?,
            exclude: globs("exclude", &params.texts("exclude")?)?,
            wanted: wanted.join(", "),
            empty: if params.flag("allow-empty")? {
                Empty::Allowed
            } else {
                Empty::Fails
            },
        })
    }

    /// Tells whether a path is selected.
    pub fn holds(&self, path: &str) -> bool {
        self.include.is_match(path) && !self.exclude.is_match(path)
    }

    /// The selected paths, sorted. Reports nothing when there are none.
    ///
    /// # Errors
    /// When the tree cannot be listed.
    pub fn paths<'t>(&self, tree: &'t Tree) -> Result<Vec<&'t str>, TreeError> {
        Ok(tree
            .files()?
            .iter()
            .map(String::as_str)
            .filter(|path| self.holds(path))
            .collect())
    }

    /// Calls `look` with every selected path, in order.
    ///
    /// No path at all is an error finding unless `allow-empty` was set.
    ///
    /// # Errors
    /// When the tree cannot be listed, or what `look` returns.
    pub fn each_path<E: From<TreeError>>(
        &self,
        tree: &Tree,
        report: &mut Report,
        mut look: impl FnMut(&str, &mut Report) -> Result<(), E>,
    ) -> Result<(), E> {
        let paths = self.paths(tree)?;
        for path in &paths {
            look(path, report)?;
        }
        self.report_empty(paths.len(), "file", report);
        Ok(())
    }

    /// Calls `look` with every selected file that is not binary, in the order of paths.
    ///
    /// A file is binary if a NUL byte occurs in its first 8 KiB. Text files past the
    /// tree's size limit are error findings, binary ones are left out. No text file at
    /// all is an error finding unless `allow-empty` was set.
    ///
    /// # Errors
    /// When the tree cannot be read, or what `look` returns.
    pub fn each_text(
        &self,
        tree: &Tree,
        report: &mut Report,
        mut look: impl FnMut(&TextFile<'_>, &mut Report) -> Result<(), CheckError>,
    ) -> Result<(), CheckError> {
        let mut texts = 0_usize;
        for path in self.paths(tree)? {
            let (content, too_large) = match tree.read(path) {
                Ok(content) => (content, None),
                Err(error @ TreeError::TooLarge { .. }) => {
                    (Content::new(tree.read_start(path, PROBE)?), Some(error))
                }
                Err(error) => return Err(error.into()),
            };
            if content.is_binary() {
                continue;
            }
            texts = texts.saturating_add(1);
            match too_large {
                Some(error) => report.error(Place::file(path), error.to_string()),
                None => look(&TextFile { path, content }, report)?,
            }
        }
        self.report_empty(texts, "text file", report);
        Ok(())
    }

    /// Makes the error finding for a check that looked at no file, unless that is allowed.
    ///
    /// For checks that go through [`Selection::paths`] themselves. `found` counts the
    /// files that were looked at, `what` names their kind.
    pub fn report_empty(&self, found: usize, what: &str, report: &mut Report) {
        if found == 0 && self.empty == Empty::Fails {
            let message = format!(
                "no {what} matches `paths` ({}), so nothing was checked",
                self.wanted
            );
            report.error(Place::Whole, message);
        }
    }
}

fn globs(name: &str, patterns: &[&str]) -> Result<GlobSet, ParamError> {
    let invalid =
        |error: globset::Error| ParamError::invalid(name, format!("is not a glob: {error}"));
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(
            GlobBuilder::new(pattern)
                .literal_separator(true)
                .build()
                .map_err(invalid)?,
        );
    }
    set.build().map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Outcome;
    use crate::pack::CheckDef;

    fn selection(json: &str) -> Result<Selection, ParamError> {
        let def = CheckDef::new("c", "a check").selects_files();
        Selection::from_params(&Params::parse(&def, json)?)
    }

    fn picked(json: &str, path: &str) -> bool {
        selection(json).expect("a selection").holds(path)
    }

    #[test]
    fn stars_stop_at_slashes_and_double_stars_cross_them() {
        let one = r#"{"paths": "src/*.py"}"#;
        assert!(picked(one, "src/a.py"));
        assert!(!picked(one, "src/b/a.py"));
        assert!(!picked(one, "lib/src/a.py"));
        let deep = r#"{"paths": ["**/*.{py,pyi}", "Makefile"], "exclude": "vendor/**"}"#;
        assert!(picked(deep, "a.py"));
        assert!(picked(deep, "x/y/.hidden.pyi"));
        assert!(picked(deep, "Makefile"));
        assert!(!picked(deep, "x/Makefile"));
        assert!(!picked(deep, "A.PY"));
        assert!(!picked(deep, "vendor/a.py"));
    }

    #[test]
    fn a_bad_glob_names_its_parameter() {
        let error = selection(r#"{"paths": "a", "exclude": "[z"}"#).expect_err("not a glob");
        assert!(
            error
                .to_string()
                .starts_with("parameter `exclude` is not a glob: "),
            "{error}"
        );
    }

    fn texts(tree: &Tree, json: &str) -> (Vec<String>, Report) {
        let (mut seen, mut report) = (Vec::new(), Report::new());
        selection(json)
            .expect("a selection")
            .each_text(tree, &mut report, |file, _| {
                seen.push(file.path.to_owned());
                Ok(())
            })
            .expect("a readable tree");
        (seen, report)
    }

    #[test]
    fn binary_files_are_left_out_and_nothing_left_fails() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("a.txt"), "text").expect("a file");
        std::fs::write(folder.path().join("b.bin"), "\0").expect("a file");
        let tree = Tree::new(folder.path());

        let (seen, report) = texts(&tree, r#"{"paths": "*"}"#);
        assert_eq!(
            (seen.as_slice(), report.outcome()),
            (["a.txt".to_owned()].as_slice(), Outcome::Pass)
        );

        let (seen, report) = texts(&tree, r#"{"paths": "*.bin"}"#);
        assert_eq!((seen.len(), report.outcome()), (0, Outcome::Fail));
        let message = report
            .findings()
            .first()
            .map(|found| found.message.as_str());
        assert_eq!(
            message,
            Some("no text file matches `paths` (*.bin), so nothing was checked")
        );

        let (_, report) = texts(&tree, r#"{"paths": "*.bin", "allow-empty": true}"#);
        assert_eq!(
            (report.outcome(), report.findings().len()),
            (Outcome::Pass, 0)
        );
    }

    #[test]
    fn a_text_past_the_size_limit_is_a_finding_and_a_binary_is_not() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("long.txt"), "12345").expect("a file");
        std::fs::write(folder.path().join("long.bin"), "\x001234").expect("a file");
        let limits = crate::tree::TreeLimits {
            file_bytes: 4,
            ..Default::default()
        };
        let (seen, report) = texts(
            &Tree::with_limits(folder.path(), limits),
            r#"{"paths": "*"}"#,
        );
        assert_eq!(
            (seen.len(), report.outcome(), report.findings().len()),
            (0, Outcome::Fail, 1)
        );
    }
}
