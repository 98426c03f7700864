//! Binary hunks: `GIT binary patch`, then one hunk, or two of which the second leads back
//! (`apply.c` and `diff.c` of git; the format is documented nowhere else).
//!
//! A hunk is `literal <size>` or `delta <size>`, lines of base 85, and a blank line. A line
//! starts with its length in bytes (`A`–`Z` 1–26, `a`–`z` 27–52). The bytes are a zlib
//! stream of exactly the stated size, which is bounded before anything is decompressed.

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::ZlibDecoder;

use crate::patch::delta::Delta;
use crate::patch::format::lines::{Cursor, Line};
use crate::patch::splice::MAX_RESULT_BYTES;
use crate::patch::{BinaryData, PatchError, PatchErrorKind, base85};

/// What starts the data.
pub(super) const MARK: &[u8] = b"GIT binary patch";

/// Reads what follows [`MARK`]: the hunk, and with it the one that leads back, whose data
/// is only checked. `room` is how many bytes the patch may still decompress to.
pub(super) fn read(
    cursor: &mut Cursor<'_>,
    mark: Line<'_>,
    room: &mut usize,
) -> Result<BinaryData, PatchError> {
    let data = hunk(cursor, room)?.ok_or_else(|| {
        PatchError::syntax(format!(
            "no `literal` or `delta` follows line {} of the patch",
            mark.number
        ))
        .with_hint("make the diff with `git diff --binary`")
    })?;
    hunk(cursor, room)?;
    Ok(data)
}

fn hunk(cursor: &mut Cursor<'_>, room: &mut usize) -> Result<Option<BinaryData>, PatchError> {
    let Some(first) = cursor.peek() else {
        return Ok(None);
    };
    let (size, is_delta) = match (
        first.bytes.strip_prefix(b"literal "),
        first.bytes.strip_prefix(b"delta "),
    ) {
        (Some(size), _) => (size, false),
        (None, Some(size)) => (size, true),
        (None, None) => return Ok(None),
    };
    cursor.next();
    let damaged = |line: u32, what: &str| {
        PatchError::syntax(format!("line {line} of the patch {what}"))
            .with_hint("make the diff again with `git diff --binary`, and keep it as it is")
    };
    let size: usize = std::str::from_utf8(size)
        .ok()
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| damaged(first.number, "states no size"))?;
    let mut packed = Vec::new();
    loop {
        let line = cursor
            .next()
            .filter(|line| line.terminated)
            .ok_or_else(|| damaged(first.number, "starts binary data that is cut off"))?;
        if line.bytes.is_empty() {
            break;
        }
        decode_line(line.bytes, &mut packed)
            .ok_or_else(|| damaged(line.number, "is no line of binary data"))?;
    }
    *room = room.checked_sub(size).ok_or_else(|| {
        PatchError::new(
            PatchErrorKind::Budget,
            "the binary data of the patch is larger than 256 MiB",
        )
        .with_hint("split the patch")
    })?;
    let data = inflate(&packed, size)
        .ok_or_else(|| damaged(first.number, "starts binary data that is damaged"))?;
    if !is_delta {
        return Ok(Some(BinaryData::Literal(Arc::from(data))));
    }
    let delta = Delta::parse(&data)
        .ok_or_else(|| damaged(first.number, "starts a delta that is damaged"))?;
    if delta.result > MAX_RESULT_BYTES {
        return Err(PatchError::new(
            PatchErrorKind::Budget,
            "a delta of the patch makes more than 256 MiB",
        )
        .with_hint("split the patch"));
    }
    Ok(Some(BinaryData::Delta(Arc::from(data))))
}

fn decode_line(line: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (length, digits) = line.split_first()?;
    let length = match length {
        b'A'..=b'Z' => length - b'A' + 1,
        b'a'..=b'z' => length - b'a' + 27,
        _ => return None,
    };
    let length = usize::from(length);
    if digits.len() != length.div_ceil(4) * 5 {
        return None;
    }
    let start = out.len();
    base85::decode(digits, out)?;
    out.truncate(start + length);
    Some(())
}

fn inflate(packed: &[u8], size: usize) -> Option<Vec<u8>> {
    let limit = u64::try_from(size).ok()?.checked_add(1)?;
    let mut data = Vec::new();
    ZlibDecoder::new(packed)
        .take(limit)
        .read_to_end(&mut data)
        .ok()?;
    (data.len() == size).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<BinaryData, PatchErrorKind> {
        let mut cursor = Cursor::new(text.as_bytes());
        let mark = cursor.next().unwrap();
        read(&mut cursor, mark, &mut (1 << 20)).map_err(|error| error.kind)
    }

    // Made by `git diff --binary`.
    const EMPTY: &str = "GIT binary patch\nliteral 0\nHcmV?d00001\n\n";

    #[test]
    fn data_of_git_is_read() {
        assert_eq!(read_text(EMPTY), Ok(BinaryData::Literal(Arc::from([]))));
    }

    #[test]
    fn damage_is_refused() {
        for text in [
            "GIT binary patch\n",
            "GIT binary patch\nliteral\n\n",
            "GIT binary patch\nliteral -1\nHcmV?d00001\n\n",
            "GIT binary patch\nliteral 1\nHcmV?d00001\n\n",
            "GIT binary patch\nliteral 0\nHcmV?d00001\n",
            "GIT binary patch\nliteral 0\nHcmV?d0000\n\n",
            "GIT binary patch\nliteral 0\nGcmV?d00001\n\n",
            "GIT binary patch\nliteral 0\nHcmV?d0\"001\n\n",
            "GIT binary patch\ndelta 0\nHcmV?d00001\n\n",
            "GIT binary patch\nliteral 0\nHcmV?d00001\n\nliteral 9\nHcmV?d00001\n\n",
        ] {
            assert_eq!(read_text(text), Err(PatchErrorKind::Syntax), "{text}");
        }
        let text = EMPTY.replace("literal 0", "literal 99999999");
        assert_eq!(read_text(&text), Err(PatchErrorKind::Budget));
    }
}
