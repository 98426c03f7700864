//! The releases of one package as commits, and the diffs between them.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

use super::git::Repository;
use super::plan::Style;
use super::tree::{Mode, Tree};

/// The releases, each a commit that is named after its index.
pub(super) struct History {
    repository: Repository,
}

/// A diff with what git says about it.
pub(super) struct Diff {
    pub(super) bytes: Vec<u8>,
    /// What happens to each file, in the order of the diff.
    pub(super) changes: Vec<Change>,
}

/// What happens to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) status: Status,
    /// The path before; for a created file the path after.
    pub(super) old: String,
    /// The path after; for a deleted file the path before.
    pub(super) new: String,
    pub(super) mode_changes: ModeChanges,
}

/// The letter that git gives a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Added,
    Copied,
    Deleted,
    Modified,
    Renamed,
}

/// Whether a file that is there before and after gets another mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModeChanges {
    Yes,
    No,
}

impl History {
    /// Commits trees to a new repository.
    pub(super) fn import<'a>(
        folder: PathBuf,
        trees: impl IntoIterator<Item = (usize, &'a Tree)>,
    ) -> Result<Self> {
        let repository = Repository::create(folder)?;
        let mut stream = Vec::new();
        for (index, tree) in trees {
            commit(index, tree, &mut stream);
        }
        repository.feed(
            &["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"],
            &stream,
        )?;
        Ok(Self { repository })
    }

    /// The diff between two releases.
    pub(super) fn diff(&self, from: usize, to: usize, style: Style) -> Result<Diff> {
        let (from, to) = (branch(from), branch(to));
        let diff = |output: &[&str]| {
            let mut arguments = vec!["-c", style.quote_path(), "diff"];
            arguments.extend(["--no-ext-diff", "--no-textconv", "--no-color"]);
            arguments.extend(style.detection());
            arguments.extend(output);
            arguments.extend([from.as_str(), to.as_str()]);
            self.repository.run(&arguments)
        };
        let raw = diff(&["--raw", "-z", "--no-abbrev"])?;
        // An option such as -U1 would add the diff to the raw output.
        let mut whole = vec!["--binary", "--full-index"];
        whole.extend(style.presentation());
        Ok(Diff {
            bytes: diff(&whole)?,
            changes: parse_raw(&raw)?,
        })
    }
}

fn branch(index: usize) -> String {
    format!("refs/heads/release-{index}")
}

/// Adds a commit to a stream for `git fast-import`.
fn commit(index: usize, tree: &Tree, stream: &mut Vec<u8>) {
    let head = format!(
        "commit {}\ncommitter x <x> 0 +0000\ndata 0\ndeleteall\n",
        branch(index)
    );
    stream.extend_from_slice(head.as_bytes());
    for (path, file) in &tree.files {
        let mode = match file.mode {
            Mode::Regular => "100644",
            Mode::Executable => "100755",
        };
        let path = path.replace('\\', "\\\\").replace('"', "\\\"");
        let line = format!("M {mode} inline \"{path}\"\ndata {}\n", file.bytes.len());
        stream.extend_from_slice(line.as_bytes());
        stream.extend_from_slice(&file.bytes);
        stream.push(b'\n');
    }
}

/// Reads the output of `git diff --raw -z` (git-diff(1), "Raw output format").
fn parse_raw(raw: &[u8]) -> Result<Vec<Change>> {
    let text = std::str::from_utf8(raw).context("a path is not UTF-8")?;
    let mut fields = text.split_terminator('\0');
    let mut changes = Vec::new();
    while let Some(head) = fields.next() {
        let words: Vec<&str> = head.split(' ').collect();
        let [old_mode, new_mode, _, _, letter] = words.as_slice() else {
            bail!("git's raw output has the line {head:?}");
        };
        let status = match letter.get(..1) {
            Some("A") => Status::Added,
            Some("C") => Status::Copied,
            Some("D") => Status::Deleted,
            Some("M") => Status::Modified,
            Some("R") => Status::Renamed,
            _ => bail!("git's raw output has the status {letter:?}"),
        };
        let old = fields.next().context("git's raw output ends early")?;
        let new = match status {
            Status::Copied | Status::Renamed => {
                fields.next().context("git's raw output ends early")?
            }
            Status::Added | Status::Deleted | Status::Modified => old,
        };
        let old_mode = old_mode.trim_start_matches(':');
        ensure!(
            old_mode.len() == 6,
            "git's raw output has the line {head:?}"
        );
        let there_twice = !matches!(status, Status::Added | Status::Deleted);
        changes.push(Change {
            status,
            old: old.to_owned(),
            new: new.to_owned(),
            mode_changes: if there_twice && old_mode != *new_mode {
                ModeChanges::Yes
            } else {
                ModeChanges::No
            },
        });
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_output_is_read() {
        let raw = b":100644 100755 1 2 M\0a b\0:100644 100644 1 1 R100\0old\0new\0:100644 000000 1 0 D\0gone\0";
        let changes = parse_raw(raw).unwrap();
        assert_eq!(changes[0].mode_changes, ModeChanges::Yes);
        assert_eq!(changes[0].old, "a b");
        assert_eq!(
            (changes[1].old.as_str(), changes[1].new.as_str()),
            ("old", "new")
        );
        assert_eq!(changes[1].status, Status::Renamed);
        assert_eq!(changes[2].status, Status::Deleted);
        assert_eq!(changes[2].mode_changes, ModeChanges::No);
        assert!(parse_raw(b"rubbish\0").is_err());
    }
}
