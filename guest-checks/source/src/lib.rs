//! The pack `source`: what source code defines, and whether it parses.
//!
//! Python, Rust, JavaScript and TypeScript (with JSX and TSX) are parsed by real parsers
//! and never executed. A parser judges grammar alone: it does not resolve names, check
//! types or expand macros.
//!
//! Parsers are recursive, so nesting is measured on the tokens first and a file past
//! [`nesting::MAX_LEVELS`] is a finding. What still exhausts the stack traps, which a
//! host reports as an error of the check.

pub mod defines;
mod javascript;
pub mod language;
pub mod nesting;
pub mod parses;
mod python;
mod rust;
mod script_nesting;
pub mod symbol;

use probity_guest::Pack;

/// The pack with all its checks.
pub fn pack() -> Pack {
    Pack::new("source")
        .check(defines::def(), defines::check)
        .check(parses::def(), parses::check)
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
