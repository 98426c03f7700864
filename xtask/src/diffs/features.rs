//! What a diff shows, so that the set of diffs can be proven to show everything.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use super::history::{Change, Diff, ModeChanges, Status};

/// Something that a diff may show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Feature {
    Creation,
    Deletion,
    Rename,
    Copy,
    ModeChange,
    Binary,
    CrLf,
    NotUtf8,
    NoFinalNewline,
    EmptyFile,
    SpaceInName,
    NameBeyondAscii,
}

impl Feature {
    /// All of them.
    pub(super) const ALL: [Self; 12] = [
        Self::Creation,
        Self::Deletion,
        Self::Rename,
        Self::Copy,
        Self::ModeChange,
        Self::Binary,
        Self::CrLf,
        Self::NotUtf8,
        Self::NoFinalNewline,
        Self::EmptyFile,
        Self::SpaceInName,
        Self::NameBeyondAscii,
    ];

    /// For people.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Creation => "created files",
            Self::Deletion => "deleted files",
            Self::Rename => "renames",
            Self::Copy => "copies",
            Self::ModeChange => "mode changes",
            Self::Binary => "binary files",
            Self::CrLf => "lines ending in CR LF",
            Self::NotUtf8 => "text that is not UTF-8",
            Self::NoFinalNewline => "text without a final newline",
            Self::EmptyFile => "empty files created or deleted",
            Self::SpaceInName => "names with a space",
            Self::NameBeyondAscii => "names beyond ASCII",
        }
    }
}

/// The part of a diff for one file.
pub(super) struct Section<'a> {
    pub(super) change: &'a Change,
    pub(super) lines: Vec<&'a [u8]>,
}

/// How a part says what changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Binary,
    Hunks,
    Nothing,
}

impl Section<'_> {
    pub(super) fn content(&self) -> Content {
        let starts = |start: &[u8]| self.lines.iter().any(|line| line.starts_with(start));
        if starts(b"GIT binary patch\n") {
            Content::Binary
        } else if starts(b"@@ -") {
            Content::Hunks
        } else {
            Content::Nothing
        }
    }
}

/// Splits a diff. Its parts stand in the order of git's raw output, and no line inside one
/// starts as they do: lines of hunks start with a sign, binary data holds no space.
pub(super) fn sections(diff: &Diff) -> Result<Vec<Section<'_>>> {
    let mut starts: Vec<Vec<&[u8]>> = Vec::new();
    for line in diff.bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            starts.push(Vec::new());
        }
        if let Some(lines) = starts.last_mut() {
            lines.push(line);
        }
    }
    ensure!(
        starts.len() == diff.changes.len(),
        "the diff has {} parts, git names {} changes",
        starts.len(),
        diff.changes.len()
    );
    let pairs = diff.changes.iter().zip(starts);
    Ok(pairs
        .map(|(change, lines)| Section { change, lines })
        .collect())
}

/// What the parts of a diff show.
pub(super) fn features(sections: &[Section<'_>]) -> BTreeSet<Feature> {
    let mut shown = BTreeSet::new();
    for section in sections {
        let change = section.change;
        let content = section.content();
        match change.status {
            Status::Added => shown.insert(Feature::Creation),
            Status::Deleted => shown.insert(Feature::Deletion),
            Status::Renamed => shown.insert(Feature::Rename),
            Status::Copied => shown.insert(Feature::Copy),
            Status::Modified => false,
        };
        let mut when = |holds: bool, feature: Feature| {
            if holds {
                shown.insert(feature);
            }
        };
        when(change.mode_changes == ModeChanges::Yes, Feature::ModeChange);
        let one_sided = matches!(change.status, Status::Added | Status::Deleted);
        when(one_sided && content == Content::Nothing, Feature::EmptyFile);
        let named = |what: fn(char) -> bool| change.old.contains(what) || change.new.contains(what);
        when(named(|c| c == ' '), Feature::SpaceInName);
        when(named(|c| !c.is_ascii()), Feature::NameBeyondAscii);
        when(content == Content::Binary, Feature::Binary);
        if content != Content::Hunks {
            continue;
        }
        let hunks = section
            .lines
            .iter()
            .skip_while(|line| !line.starts_with(b"@@ -"));
        for line in hunks {
            when(line.ends_with(b"\r\n"), Feature::CrLf);
            when(std::str::from_utf8(line).is_err(), Feature::NotUtf8);
            when(line.starts_with(b"\\"), Feature::NoFinalNewline);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(status: Status, name: &str) -> Change {
        Change {
            status,
            old: name.to_owned(),
            new: name.to_owned(),
            mode_changes: ModeChanges::No,
        }
    }

    #[test]
    fn parts_are_told_apart_and_their_features_named() {
        let diff = Diff {
            bytes: b"diff --git a/a b b/a b\n--- a/a b\n+++ b/a b\n@@ -1 +1 @@\n-x\r\n+\xff\n\\ No newline at end of file\n\
                diff --git a/e b/e\ndeleted file mode 100644\nindex 1..0\n\
                diff --git a/b b/b\nindex 1..2\nGIT binary patch\nliteral 0\n\n"
                .to_vec(),
            changes: vec![
                change(Status::Modified, "a b"),
                change(Status::Deleted, "e"),
                change(Status::Modified, "b"),
            ],
        };
        let parts = sections(&diff).unwrap();
        let contents: Vec<Content> = parts.iter().map(Section::content).collect();
        assert_eq!(
            contents,
            [Content::Hunks, Content::Nothing, Content::Binary]
        );
        let expected = [
            Feature::Deletion,
            Feature::Binary,
            Feature::CrLf,
            Feature::NotUtf8,
            Feature::NoFinalNewline,
            Feature::EmptyFile,
            Feature::SpaceInName,
        ];
        assert_eq!(features(&parts), BTreeSet::from(expected));
    }
}
