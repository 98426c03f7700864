//! Writing changes as a unified diff that `git apply` and this crate's parser accept.
//!
//! Three lines of context; `a/` and `b/` prefixes; no `index` lines for text, since the ids
//! of git depend on the repository's hash. A file with a NUL byte on either side is written
//! as git's binary hunks, forth and back, with the SHA-1 ids that git asks for. A plan's
//! moved files are shown as such; between two trees only files that move unchanged are
//! recognised. A copy is written as a new file: git cannot take a diff with copies back.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::ops::Range;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::line_diff::{DiffBudget, Match, common_lines, split_lines};
use super::plan::{Change, Plan, Source};
use super::quoted_name::write_name;
use super::{BlobId, base85, delta};
use crate::repo::{File, FileMode, Repo, RepoPath};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Bytes of one line of binary data.
const BINARY_LINE: usize = 52;

/// The changes of a plan as a unified diff.
#[must_use]
pub fn render_plan(plan: &Plan) -> Vec<u8> {
    render(plan.changes())
}

/// What turns `before` into `after`, as a unified diff; empty if they are equal.
#[must_use]
pub fn render_diff(before: &Repo, after: &Repo) -> Vec<u8> {
    let mut budget = DiffBudget::new();
    let paths: BTreeSet<RepoPath> = before.changed_paths(after).into_iter().collect();
    let mut gone: BTreeMap<&[u8], Vec<(&RepoPath, &File)>> = BTreeMap::new();
    for path in &paths {
        if let (Some(file), None) = (before.get(path), after.get(path))
            && file.mode() != FileMode::Symlink
            && !file.bytes().is_empty()
        {
            gone.entry(file.bytes()).or_default().push((path, file));
        }
    }
    let mut changes = Vec::with_capacity(paths.len());
    for path in &paths {
        let (old, new) = (before.get(path), after.get(path));
        let source = match (old, new) {
            (None, Some(new)) if new.mode() != FileMode::Symlink => gone
                .get_mut(new.bytes())
                .filter(|same| !same.is_empty())
                .map(|same| same.remove(0))
                .map(|(path, file)| Source::Renamed(path.clone(), file.clone())),
            (_, _) => None,
        };
        changes.push(Change::new(
            path.clone(),
            old.cloned(),
            new.cloned(),
            source,
            &mut budget,
        ));
    }
    render(&changes)
}

fn render(changes: &[Change]) -> Vec<u8> {
    let moved: BTreeSet<&RepoPath> = changes
        .iter()
        .filter_map(|change| match &change.source {
            Some(Source::Renamed(from, _)) => Some(from),
            Some(Source::Copied(..)) | None => None,
        })
        .collect();
    let mut out = Vec::new();
    let mut budget = DiffBudget::new();
    for change in changes {
        let (path, before, after) = (&change.path, change.before.as_ref(), change.after.as_ref());
        let link = |file: &File| file.mode() == FileMode::Symlink;
        match (before, after, &change.source) {
            // Shown where it went.
            (Some(_), None, _) if moved.contains(path) => {}
            // Between a file and a link git shows a deletion and a creation.
            (Some(old), Some(new), _) if link(old) != link(new) => {
                let whole = |old, new| Section::new(path, path, old, new, Naming::Kept);
                whole(before, None).write(&mut out, &mut budget);
                whole(None, after).write(&mut out, &mut budget);
            }
            (_, _, Some(Source::Renamed(from, file))) => {
                Section::new(from, path, Some(file), after, Naming::Renamed)
                    .write(&mut out, &mut budget);
            }
            (_, _, Some(Source::Copied(..)) | None) => {
                Section::new(path, path, before, after, Naming::Kept).write(&mut out, &mut budget);
            }
        }
    }
    out
}

/// One file section of the diff.
struct Section<'a> {
    old_name: &'a str,
    new_name: &'a str,
    old: Option<&'a File>,
    new: Option<&'a File>,
    naming: Naming,
}

/// Whether a section is about one name or two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    Kept,
    Renamed,
}

impl<'a> Section<'a> {
    fn new(
        old_path: &'a RepoPath,
        new_path: &'a RepoPath,
        old: Option<&'a File>,
        new: Option<&'a File>,
        naming: Naming,
    ) -> Self {
        Self {
            old_name: old_path.as_str(),
            new_name: new_path.as_str(),
            old,
            new,
            naming,
        }
    }

    fn write(&self, out: &mut Vec<u8>, budget: &mut DiffBudget) {
        push(out, "diff --git ");
        write_name(out, "a/", self.old_name);
        out.push(b' ');
        write_name(out, "b/", self.new_name);
        out.push(b'\n');
        let mode = |file: &File| file.mode().as_git();
        match (self.old, self.new) {
            (None, Some(new)) => push(out, &format!("new file mode {}\n", mode(new))),
            (Some(old), None) => push(out, &format!("deleted file mode {}\n", mode(old))),
            (Some(old), Some(new)) if mode(old) != mode(new) => {
                push(
                    out,
                    &format!("old mode {}\nnew mode {}\n", mode(old), mode(new)),
                );
            }
            (_, _) => {}
        }
        let (old, new) = (
            self.old.map_or(&[][..], File::bytes),
            self.new.map_or(&[][..], File::bytes),
        );
        if self.naming == Naming::Renamed {
            if old == new {
                push(out, "similarity index 100%\n");
            }
            for (direction, name) in [("from", self.old_name), ("to", self.new_name)] {
                push(out, &format!("rename {direction} "));
                write_name(out, "", name);
                out.push(b'\n');
            }
        }
        if old == new {
            return;
        }
        let binary = |bytes: &[u8]| memchr::memchr(0, bytes).is_some();
        if binary(old) || binary(new) {
            self.write_binary(out, old, new);
            return;
        }
        let sides = [
            ("--- ", "a/", self.old_name, self.old),
            ("+++ ", "b/", self.new_name, self.new),
        ];
        for (key, prefix, name, file) in sides {
            push(out, key);
            match file {
                Some(_) => write_name(out, prefix, name),
                None => push(out, "/dev/null"),
            }
            // As git does, so that a name with a space is not taken for a name and a date.
            if file.is_some() && name.contains(' ') {
                out.push(b'\t');
            }
            out.push(b'\n');
        }
        write_hunks(out, &split_lines(old), &split_lines(new), budget);
    }

    fn write_binary(&self, out: &mut Vec<u8>, old: &[u8], new: &[u8]) {
        let id = |file: Option<&File>| match file {
            Some(file) => BlobId::sha1_of(file.bytes()),
            None => BlobId::Sha1([0; 20]),
        };
        push(out, &format!("index {}..{}", id(self.old), id(self.new)));
        match (self.old, self.new) {
            (Some(old), Some(new)) if old.mode() == new.mode() => {
                push(out, &format!(" {}", new.mode().as_git()));
            }
            (_, _) => {}
        }
        push(out, "\nGIT binary patch\n");
        write_binary_hunk(out, old, new);
        write_binary_hunk(out, new, old);
    }
}

/// The shorter of the whole content and a delta.
fn write_binary_hunk(out: &mut Vec<u8>, from: &[u8], to: &[u8]) {
    let literal = deflate(to);
    let delta = delta::between(from, to);
    let packed_delta = deflate(&delta);
    let use_delta = !from.is_empty() && !to.is_empty() && packed_delta.len() < literal.len();
    let (header, packed) = if use_delta {
        (format!("delta {}\n", delta.len()), packed_delta)
    } else {
        (format!("literal {}\n", to.len()), literal)
    };
    push(out, &header);
    for line in packed.chunks(BINARY_LINE) {
        let length = u8::try_from(line.len()).unwrap_or(0);
        out.push(match length {
            0..=26 => b'A'.saturating_add(length.saturating_sub(1)),
            _ => b'a'.saturating_add(length.saturating_sub(27)),
        });
        base85::encode(line, out);
        out.push(b'\n');
    }
    out.push(b'\n');
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Lines that were replaced by other lines; one side may be empty.
struct Block {
    old: Range<usize>,
    new: Range<usize>,
}

fn blocks(old: usize, new: usize, common: &[Match]) -> Vec<Block> {
    let end = Match { old, new, len: 0 };
    let mut from = (0, 0);
    let mut out = Vec::new();
    for run in common.iter().chain([&end]) {
        if run.old > from.0 || run.new > from.1 {
            out.push(Block {
                old: from.0..run.old,
                new: from.1..run.new,
            });
        }
        from = (
            run.old.saturating_add(run.len),
            run.new.saturating_add(run.len),
        );
    }
    out
}

fn write_hunks(out: &mut Vec<u8>, old: &[&[u8]], new: &[&[u8]], budget: &mut DiffBudget) {
    let blocks = blocks(old.len(), new.len(), &common_lines(old, new, budget));
    let mut rest = blocks.as_slice();
    while let Some(first) = rest.first() {
        // Changes belong to one hunk as long as their contexts touch.
        let near = |(a, b): &(&Block, &Block)| {
            b.old.start.saturating_sub(a.old.end) <= 2_usize.saturating_mul(CONTEXT)
        };
        let more = rest
            .iter()
            .zip(rest.iter().skip(1))
            .take_while(near)
            .count();
        let (hunk, after) = rest
            .split_at_checked(more.saturating_add(1))
            .unwrap_or((rest, &[]));
        rest = after;
        let last = hunk.last().unwrap_or(first);
        let lead = first.old.start.min(CONTEXT);
        let tail = old.len().saturating_sub(last.old.end).min(CONTEXT);
        let old_range = first.old.start.saturating_sub(lead)..last.old.end.saturating_add(tail);
        let new_range = first.new.start.saturating_sub(lead)..last.new.end.saturating_add(tail);
        let header = format!("@@ -{} +{} @@\n", range(&old_range), range(&new_range));
        push(out, &header);
        let mut at = old_range.start;
        for block in hunk {
            write_lines(out, b' ', old, at..block.old.start);
            write_lines(out, b'-', old, block.old.clone());
            write_lines(out, b'+', new, block.new.clone());
            at = block.old.end;
        }
        write_lines(out, b' ', old, at..old_range.end);
    }
}

/// A range as a hunk header states it: an empty one by the line before it.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => lines.start.saturating_add(1).to_string(),
        count => format!("{},{count}", lines.start.saturating_add(1)),
    }
}

fn write_lines(out: &mut Vec<u8>, sign: u8, lines: &[&[u8]], range: Range<usize>) {
    for line in lines.get(range).unwrap_or_default() {
        out.push(sign);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            push(out, "\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repo(files: &[(&str, &[u8], FileMode)]) -> Repo {
        let mut repo = Repo::new();
        for (name, bytes, mode) in files {
            repo.insert(&name.parse().unwrap(), File::new(*bytes, *mode))
                .unwrap();
        }
        repo
    }

    #[test]
    fn every_form_is_written_as_git_writes_it() {
        use FileMode::{Executable, Regular, Symlink};
        let before = repo(&[
            ("bin", b"\0a", Regular),
            ("caf\u{e9}", b"1\n", Regular),
            ("gone", b"x", Regular),
            ("link", b"target", Symlink),
            ("my notes", b"a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", Regular),
            ("run", b"same\n", Regular),
        ]);
        let after = repo(&[
            ("bin", b"\0b", Regular),
            ("caf\u{e9}", b"2\n", Regular),
            ("link", b"text\n", Regular),
            ("my notes", b"A\nb\nc\nd\ne\nf\ng\nh\ni\nJ\n", Regular),
            ("new", b"", Regular),
            ("run", b"same\n", Executable),
        ]);
        let text = String::from_utf8(render_diff(&before, &after)).unwrap();
        let expected = "\
diff --git a/bin b/bin
index daa8f618e0690a8d31f6b1f9d29a5dee879911c1..10f50c4d4bd377007eaba60150cf5a6569eac0d1 100644
GIT binary patch
literal 2
Jc${NM0ssJH0Am0E

literal 2
Jc${NM1ONbI0Ac_D

diff --git \"a/caf\\303\\251\" \"b/caf\\303\\251\"
--- \"a/caf\\303\\251\"
+++ \"b/caf\\303\\251\"
@@ -1 +1 @@
-1
+2
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
\\ No newline at end of file
diff --git a/link b/link
deleted file mode 120000
--- a/link
+++ /dev/null
@@ -1 +0,0 @@
-target
\\ No newline at end of file
diff --git a/link b/link
new file mode 100644
--- /dev/null
+++ b/link
@@ -0,0 +1 @@
+text
diff --git a/my notes b/my notes
--- a/my notes\t
+++ b/my notes\t
@@ -1,4 +1,4 @@
-a
+A
 b
 c
 d
@@ -7,4 +7,4 @@
 g
 h
 i
-j
+J
diff --git a/new b/new
new file mode 100644
diff --git a/run b/run
old mode 100644
new mode 100755
";
        assert_eq!(text, expected);
    }
}
