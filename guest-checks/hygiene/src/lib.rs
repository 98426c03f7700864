//! The pack `hygiene`: habits of a tidy repository.
//!
//! Every check is a function of the tree, its parameters and a report, in the module of
//! its name. Each looks only at the files that its globs select.

pub mod file_size;
pub mod license_header;
pub mod merge_conflict_markers;
pub mod todo_markers;

use probity_guest::Pack;

/// The pack with all its checks.
pub fn pack() -> Pack {
    Pack::new("hygiene")
        .check(license_header::def(), license_header::check)
        .check(todo_markers::def(), todo_markers::check)
        .check(file_size::def(), file_size::check)
        .check(merge_conflict_markers::def(), merge_conflict_markers::check)
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
