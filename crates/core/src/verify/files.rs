//! The static kinds `file-exists` and `file-contains`. They read bytes and run nothing.

use super::{Assurance, CheckReport, Finding};
use crate::repo::Kind;
use crate::spec::{Check, FileContains, FileExists};
use crate::{Repo, RepoPath};

/// Most lines that a finding lists.
const LISTED: usize = 20;

pub(super) fn exists(check: &Check, wanted: &FileExists, repo: &Repo) -> CheckReport {
    let findings: Vec<Finding> = wanted
        .paths
        .iter()
        .filter_map(|path| not_a_file(path, repo))
        .collect();
    let message = match (wanted.paths.as_slice(), findings.as_slice()) {
        ([path], []) => format!("`{path}` exists"),
        (paths, []) => format!("all {} files exist", paths.len()),
        (_, [finding]) => finding.message.clone(),
        (paths, missing) => format!("{} of {} files do not exist", missing.len(), paths.len()),
    };
    CheckReport::of_findings(check, Assurance::Isolated, message, findings)
}

/// What keeps `path` from being a file.
fn not_a_file(path: &RepoPath, repo: &Repo) -> Option<Finding> {
    let what = match repo.kind(path) {
        Some(Kind::File) => return None,
        Some(Kind::Symlink) => "is a symbolic link, not a file",
        Some(Kind::Directory) => "is a folder, not a file",
        None => "does not exist",
    };
    Some(Finding::error(format!("`{path}` {what}")).at(path))
}

pub(super) fn contains(check: &Check, wanted: &FileContains, repo: &Repo) -> CheckReport {
    let FileContains {
        path,
        pattern,
        wanted: text,
        count,
    } = wanted;
    let report = |message: String, findings: Vec<Finding>| {
        CheckReport::of_findings(check, Assurance::Isolated, message, findings)
    };
    let file = match (not_a_file(path, repo), repo.get(path)) {
        (None, Some(file)) => file,
        (Some(finding), _) => return report(finding.message.clone(), vec![finding]),
        (None, None) => {
            let finding = Finding::error(format!("`{path}` does not exist")).at(path);
            return report(finding.message.clone(), vec![finding]);
        }
    };
    let starts: Vec<usize> = pattern.matches(file.bytes()).collect();
    let found = u64::try_from(starts.len()).unwrap_or(u64::MAX);
    let holds = match count {
        None => found > 0,
        Some(count) => found == *count,
    };
    if holds {
        let message = match count {
            None => format!("`{path}` contains {text}"),
            Some(count) => format!("`{path}` contains {text} {count} times"),
        };
        return report(message, Vec::new());
    }
    let message = match count {
        None => format!("`{path}` does not contain {text}"),
        Some(0) => format!("`{path}` contains {text}, which it must not"),
        Some(count) => format!("`{path}` contains {text} {found} times, not {count}"),
    };
    let mut findings: Vec<Finding> = lines_of(file.bytes(), &starts)
        .into_iter()
        .map(|line| Finding::error(message.clone()).at(path).on_line(line))
        .collect();
    if findings.is_empty() {
        findings.push(Finding::error(message.clone()).at(path));
    }
    report(message, findings)
}

/// The lines, from 1, on which the first few of the sorted `offsets` lie.
fn lines_of(bytes: &[u8], offsets: &[usize]) -> Vec<u64> {
    let mut lines: Vec<u64> = Vec::new();
    let (mut line, mut from) = (1_u64, 0_usize);
    for offset in offsets {
        let between = bytes.get(from..*offset).unwrap_or_default();
        let ends = between.iter().filter(|byte| **byte == b'\n').count();
        line = line.saturating_add(u64::try_from(ends).unwrap_or(u64::MAX));
        from = *offset;
        if lines.last() != Some(&line) {
            lines.push(line);
        }
        if lines.len() >= LISTED {
            break;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_become_lines_once_each() {
        assert_eq!(lines_of(b"ab\nc\n\nd", &[0, 1, 3, 6]), [1, 2, 4]);
        assert_eq!(lines_of(b"", &[]), Vec::<u64>::new());
    }
}
