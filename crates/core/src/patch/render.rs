//! Writing changes as a unified diff that `git apply` and this crate's parser accept.
//!
//! Three lines of context; `a/` and `b/` prefixes; no `index` lines, since the ids of git
//! depend on the repository's hash. A file with a NUL byte on either side is only named
//! (`Binary files … differ`), which no tool can apply. Renames are not sought: a moved
//! file is shown as deleted and created.

use std::collections::BTreeSet;
use std::ops::Range;

use super::line_diff::{DiffBudget, Match, common_lines, split_lines};
use super::plan::{Change, Plan};
use super::quoted_name::write_name;
use crate::repo::{File, FileMode, Repo, RepoPath};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;

/// The changes of a plan as a unified diff.
#[must_use]
pub fn render_plan(plan: &Plan) -> Vec<u8> {
    let mut out = Vec::new();
    let mut budget = DiffBudget::new();
    for Change {
        path,
        before,
        after,
    } in plan.changes()
    {
        write_file(&mut out, path, before.as_ref(), after.as_ref(), &mut budget);
    }
    out
}

/// What turns `before` into `after`, as a unified diff; empty if they are equal.
#[must_use]
pub fn render_diff(before: &Repo, after: &Repo) -> Vec<u8> {
    let mut out = Vec::new();
    let mut budget = DiffBudget::new();
    let paths: BTreeSet<RepoPath> = before.changed_paths(after).into_iter().collect();
    for path in paths {
        write_file(
            &mut out,
            &path,
            before.get(&path),
            after.get(&path),
            &mut budget,
        );
    }
    out
}

fn write_file(
    out: &mut Vec<u8>,
    path: &RepoPath,
    before: Option<&File>,
    after: Option<&File>,
    budget: &mut DiffBudget,
) {
    let link = |file: &File| file.mode() == FileMode::Symlink;
    match (before, after) {
        // Between a file and a link git shows a deletion and a creation.
        (Some(old), Some(new)) if link(old) != link(new) => {
            write_file(out, path, before, None, budget);
            write_file(out, path, None, after, budget);
            return;
        }
        (_, _) => {}
    }
    let name = path.as_str();
    out.extend_from_slice(b"diff --git ");
    write_name(out, "a/", name);
    out.push(b' ');
    write_name(out, "b/", name);
    out.push(b'\n');
    let mode = |file: &File| file.mode().as_git();
    match (before, after) {
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
        before.map_or(&[][..], File::bytes),
        after.map_or(&[][..], File::bytes),
    );
    if old == new {
        return;
    }
    let binary = |bytes: &[u8]| memchr::memchr(0, bytes).is_some();
    if binary(old) || binary(new) {
        out.extend_from_slice(b"Binary files ");
        write_side(out, "a/", name, before);
        out.extend_from_slice(b" and ");
        write_side(out, "b/", name, after);
        out.extend_from_slice(b" differ\n");
        return;
    }
    for (key, prefix, file) in [("--- ", "a/", before), ("+++ ", "b/", after)] {
        push(out, key);
        write_side(out, prefix, name, file);
        // As git does, so that a name with a space is not taken for a name and a date.
        if file.is_some() && name.contains(' ') {
            out.push(b'\t');
        }
        out.push(b'\n');
    }
    write_hunks(out, &split_lines(old), &split_lines(new), budget);
}

fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn write_side(out: &mut Vec<u8>, prefix: &str, name: &str, file: Option<&File>) {
    match file {
        Some(_) => write_name(out, prefix, name),
        None => push(out, "/dev/null"),
    }
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
Binary files a/bin and b/bin differ
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
