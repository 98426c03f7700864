//! One hunk of a unified diff: its header, and a body of exactly as many lines.
//!
//! Only the counts tell where a body ends: `--- x` may be a removed line. So the counts
//! have to be exact, and what looks like more body after the last line is an error; a
//! miscounted hunk must not lose lines silently. The error carries the counted header.

use crate::patch::format::lines::{Cursor, Line};
use crate::patch::{Hunk, PatchError, Tail};

struct Range {
    start: u32,
    count: u32,
}

/// Reads `-l,c` or `+l,c` (`,1` may be left out).
fn range(text: &[u8], sign: u8) -> Option<Range> {
    let text = std::str::from_utf8(text.strip_prefix(&[sign])?).ok()?;
    let number = |digits: &str| -> Option<u32> {
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse().ok()).flatten()
    };
    let (start, count) = match text.split_once(',') {
        Some((start, count)) => (number(start)?, number(count)?),
        None => (number(text)?, 1),
    };
    start.checked_add(count)?;
    (start > 0 || count == 0).then_some(Range { start, count })
}

fn header(line: &[u8]) -> Option<(Range, Range)> {
    let rest = line.strip_prefix(b"@@ ")?;
    let mut parts = rest.splitn(3, |byte| *byte == b' ');
    let (old, new, end) = (parts.next()?, parts.next()?, parts.next()?);
    if !end.starts_with(b"@@") {
        return None;
    }
    Some((range(old, b'-')?, range(new, b'+')?))
}

/// Whether the line cannot stand between file sections right after a hunk.
fn body_like(cursor: &Cursor<'_>) -> bool {
    let Some(line) = cursor.peek() else {
        return false;
    };
    match line.bytes.first() {
        Some(b'-') => !cursor.at_file_header() && !at_mail_signature(cursor),
        Some(b' ' | b'+' | b'\\') => true,
        Some(_) | None => false,
    }
}

/// `git format-patch` ends a mail with `-- ` and its version, or another signature.
fn at_mail_signature(cursor: &Cursor<'_>) -> bool {
    cursor.peek().is_some_and(|line| line.bytes == b"-- ")
        && cursor.peek_second().is_some_and(|line| {
            let first = line.bytes.first();
            first.is_some_and(|byte| !b"+- @\\".contains(byte))
        })
}

/// The counts that the body at `cursor` really has, for a hint.
fn recount(mut cursor: Cursor<'_>) -> (u32, u32) {
    let (mut old, mut new) = (0_u32, 0_u32);
    let mut blank = 0_u32;
    while !cursor.at_file_header() && !at_mail_signature(&cursor) {
        let Some(line) = cursor.next() else { break };
        match line.bytes.first() {
            // A blank line counts only if more of the body follows.
            None => {
                blank = blank.saturating_add(1);
                continue;
            }
            Some(b' ') => {
                old = old.saturating_add(1);
                new = new.saturating_add(1);
            }
            Some(b'-') => old = old.saturating_add(1),
            Some(b'+') => new = new.saturating_add(1),
            Some(b'\\') => {}
            Some(_) => break,
        }
        old = old.saturating_add(blank);
        new = new.saturating_add(blank);
        blank = 0;
    }
    (old, new)
}

struct Body {
    old: Vec<u8>,
    new: Vec<u8>,
    /// Whether the last old (new) line was marked as having no newline.
    old_closed: bool,
    new_closed: bool,
    changes: u32,
    trailing: u32,
    last: Option<Side>,
}

#[derive(Clone, Copy)]
enum Side {
    Context,
    Removed,
    Added,
}

impl Body {
    /// Adds a line; false if its side has already been closed by a marker.
    fn push(&mut self, side: Side, text: &[u8]) -> bool {
        let (in_old, in_new) = match side {
            Side::Context => (true, true),
            Side::Removed => (true, false),
            Side::Added => (false, true),
        };
        if (in_old && self.old_closed) || (in_new && self.new_closed) {
            return false;
        }
        for (wanted, out) in [(in_old, &mut self.old), (in_new, &mut self.new)] {
            if wanted {
                out.extend_from_slice(text);
                out.push(b'\n');
            }
        }
        match side {
            Side::Context => self.trailing = self.trailing.saturating_add(1),
            Side::Removed | Side::Added => {
                self.changes = self.changes.saturating_add(1);
                self.trailing = 0;
            }
        }
        self.last = Some(side);
        true
    }

    /// Takes the newline of the last line away; false if there is no line to take it from,
    /// or nothing would remain of that line.
    fn mark_unterminated(&mut self) -> bool {
        let Some(side) = self.last.take() else {
            return false;
        };
        let (in_old, in_new) = match side {
            Side::Context => (true, true),
            Side::Removed => (true, false),
            Side::Added => (false, true),
        };
        for (wanted, out, closed) in [
            (in_old, &mut self.old, &mut self.old_closed),
            (in_new, &mut self.new, &mut self.new_closed),
        ] {
            if wanted {
                out.pop();
                if out.last().is_none_or(|byte| *byte == b'\n') {
                    return false;
                }
                *closed = true;
            }
        }
        true
    }
}

/// Reads the hunk whose header `first` has just been taken from `cursor`.
pub(super) fn read(cursor: &mut Cursor<'_>, first: Line<'_>) -> Result<Hunk, PatchError> {
    let (old, new) = header(first.bytes).ok_or_else(|| {
        PatchError::syntax(format!(
            "line {} of the patch is not a hunk header `@@ -line,count +line,count @@`",
            first.number
        ))
        .with_hint("state the lines of the original file, for example `@@ -12,7 +12,8 @@`")
    })?;
    let start = *cursor;
    let miscount = || {
        let (counted_old, counted_new) = recount(start);
        PatchError::syntax(format!(
            "the hunk at line {} of the patch says {} old and {} new lines, but its body has {counted_old} and {counted_new}",
            first.number, old.count, new.count
        ))
        .with_hint(format!(
            "the header for this body is `@@ -{},{counted_old} +{},{counted_new} @@`",
            old.start, new.start
        ))
    };
    let mut body = Body {
        old: Vec::new(),
        new: Vec::new(),
        old_closed: false,
        new_closed: false,
        changes: 0,
        trailing: 0,
        last: None,
    };
    let (mut old_left, mut new_left) = (old.count, new.count);
    while old_left > 0 || new_left > 0 {
        if cursor
            .peek()
            .is_some_and(|line| line.bytes.starts_with(b"\\ "))
        {
            read_marker(cursor, &mut body)?;
            continue;
        }
        let line = cursor.next().ok_or_else(miscount)?;
        let (side, text) = match line.bytes.split_first() {
            None => (Side::Context, line.bytes),
            Some((b' ', text)) => (Side::Context, text),
            Some((b'-', text)) => (Side::Removed, text),
            Some((b'+', text)) => (Side::Added, text),
            Some(_) => return Err(miscount()),
        };
        if !line.terminated {
            return Err(PatchError::syntax(format!(
                "the patch is cut off in line {}",
                line.number
            ))
            .with_hint("end every line of the patch with a newline, the last one too"));
        }
        let (in_old, in_new) = match side {
            Side::Context => (1, 1),
            Side::Removed => (1, 0),
            Side::Added => (0, 1),
        };
        old_left = old_left.checked_sub(in_old).ok_or_else(miscount)?;
        new_left = new_left.checked_sub(in_new).ok_or_else(miscount)?;
        if !body.push(side, text) {
            return Err(PatchError::syntax(format!(
                "line {} of the patch follows a line marked as the last of the file",
                line.number
            ))
            .with_hint("`\\ No newline at end of file` belongs after the file's last line only"));
        }
    }
    if cursor
        .peek()
        .is_some_and(|line| line.bytes.starts_with(b"\\ "))
    {
        read_marker(cursor, &mut body)?;
    }
    refuse_more_body(cursor, miscount)?;
    if body.changes == 0 {
        return Err(PatchError::syntax(format!(
            "the hunk at line {} of the patch has no `-` or `+` line",
            first.number
        ))
        .with_hint("leave out hunks that change nothing"));
    }
    Ok(Hunk {
        old_start: old.start,
        old: body.old,
        new: body.new,
        tail: if body.trailing == 0 {
            Tail::EndOfFile
        } else {
            Tail::Open
        },
    })
}

fn read_marker(cursor: &mut Cursor<'_>, body: &mut Body) -> Result<(), PatchError> {
    let number = cursor.next().map_or(0, |line| line.number);
    if body.mark_unterminated() {
        return Ok(());
    }
    Err(PatchError::syntax(format!(
        "the marker in line {number} of the patch follows no line that it could belong to"
    ))
    .with_hint("`\\ No newline at end of file` belongs after the file's last line only"))
}

/// Looks past blank lines: more body behind them was meant to be part of the hunk.
fn refuse_more_body(
    cursor: &Cursor<'_>,
    miscount: impl Fn() -> PatchError,
) -> Result<(), PatchError> {
    let mut ahead = *cursor;
    while ahead.peek().is_some_and(|line| line.bytes.is_empty()) {
        ahead.next();
    }
    if let Some(line) = ahead.peek()
        && line.bytes.starts_with(b"\\ ")
    {
        return Err(PatchError::syntax(format!(
            "the marker in line {} of the patch follows no line that it could belong to",
            line.number
        ))
        .with_hint("`\\ No newline at end of file` belongs after the file's last line only"));
    }
    if body_like(&ahead) {
        return Err(miscount());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::PatchErrorKind;

    fn hunk(text: &str) -> Result<Hunk, PatchError> {
        let mut cursor = Cursor::new(text.as_bytes());
        let first = cursor.next().unwrap();
        read(&mut cursor, first)
    }

    #[test]
    fn a_miscounted_hunk_is_recounted_in_the_hint() {
        for text in [
            "@@ -3,2 +3,2 @@\n a\n-b\n+c\n d\n",
            "@@ -3,9 +3,9 @@\n a\n-b\n+c\n d\n",
            "@@ -3,2 +3,2 @@\n a\n-b\n+c\n\n d\n",
        ] {
            let error = hunk(text).unwrap_err();
            assert_eq!(error.kind, PatchErrorKind::Syntax, "{text}");
            let lines = if text.contains("\n\n") { 4 } else { 3 };
            assert_eq!(
                error.hint.unwrap(),
                format!("the header for this body is `@@ -3,{lines} +3,{lines} @@`")
            );
        }
    }

    #[test]
    fn headers_are_strict() {
        for line in [
            "@@ ... @@",
            "@@ -1 +1",
            "@@ -1,+1 @@",
            "@@ -a +1 @@",
            "@@ -0,1 +1 @@",
            "@@ -+1 +1 @@",
            "@@ -4294967295,1 +1 @@",
        ] {
            assert!(header(line.as_bytes()).is_none(), "{line}");
        }
        assert!(header(b"@@ -1,2 +0,0 @@ fn main()").is_some());
    }

    #[test]
    fn markers_belong_to_the_last_line() {
        let good = hunk("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n").unwrap();
        assert_eq!((good.old, good.new), (b"a".to_vec(), b"b\n".to_vec()));
        for text in [
            "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n",
            "@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n-b\n+b\n",
            "@@ -1 +1 @@\n-a\n+\n\\ No newline at end of file\n",
            "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n\\ No newline at end of file\n",
        ] {
            assert_eq!(
                hunk(text).unwrap_err().kind,
                PatchErrorKind::Syntax,
                "{text}"
            );
        }
    }

    #[test]
    fn a_mail_signature_ends_the_last_hunk() {
        assert!(hunk("@@ -1 +1 @@\n-a\n+b\n-- \n2.47.3\n\n").is_ok());
        assert!(hunk("@@ -1 +1 @@\n-a\n+b\n-- \n").is_err());
    }
}
