//! The pack `text`: which files there are and what text they hold.
//!
//! Every check is a function of the tree, its parameters and a report, in the module of
//! its name. Contents are searched as bytes, so a file need not be UTF-8.

pub mod file_contains;
pub mod file_exists;
pub mod final_newline;
pub mod forbid_pattern;
pub mod line_endings;
mod pattern;

use probity_guest::Pack;

/// The pack with all its checks.
pub fn pack() -> Pack {
    Pack::new("text")
        .check(file_exists::def(), file_exists::check)
        .check(file_contains::def(), file_contains::check)
        .check(forbid_pattern::def(), forbid_pattern::check)
        .check(line_endings::def(), line_endings::check)
        .check(final_newline::def(), final_newline::check)
}

#[cfg(test)]
mod harness {
    //! Runs one check on a tree that is given as a list of files.

    use probity_guest::{Finding, Tree};

    /// Lines of the form `level path:line message`, without the parts that are absent.
    pub(crate) fn findings(files: &[(&str, &str)], check: &str, params: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let full = folder.path().join(path);
            std::fs::create_dir_all(full.parent().expect("a parent")).expect("folders");
            std::fs::write(full, text).expect("a file");
        }
        match crate::pack().run(check, params, &Tree::new(folder.path())) {
            Ok(report) => report.findings().iter().map(line).collect(),
            Err(error) => vec![format!("refused: {error}")],
        }
    }

    fn line(found: &Finding) -> String {
        let mut line = format!("{:?}", found.level).to_lowercase();
        if let Some(path) = &found.path {
            line = format!("{line} {path}");
        }
        if let Some(number) = found.line {
            line = format!("{line}:{number}");
        }
        format!("{line} {}", found.message)
    }
}
