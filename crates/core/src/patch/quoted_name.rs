//! File names in diffs, quoted as git does (`quote.c`, `core.quotePath` on).
//!
//! A name that holds `"`, `\`, a control character or a byte above 0x7e stands between
//! double quotes, with the escapes of C.

/// Writes `prefix` and `name`, quoted if need be.
pub(super) fn write_name(out: &mut Vec<u8>, prefix: &str, name: &str) {
    let plain = |byte: &u8| matches!(byte, 0x20..=0x7e) && !matches!(byte, b'"' | b'\\');
    if name.as_bytes().iter().all(plain) {
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(name.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(prefix.as_bytes());
    for byte in name.as_bytes() {
        if plain(byte) {
            out.push(*byte);
        } else if matches!(byte, b'"' | b'\\') {
            out.extend_from_slice(&[b'\\', *byte]);
        } else {
            out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
        }
    }
    out.push(b'"');
}

/// Reads a quoted name at the start of `text`: the name and what follows the closing
/// quote. `None` if the quotes or escapes are broken.
pub(super) fn read_quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((name, rest)),
            b'\\' => {
                let (escape, after) = rest.split_first()?;
                rest = after;
                name.push(match escape {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 0x0b,
                    b'"' | b'\\' => *escape,
                    b'0'..=b'3' => {
                        let (digits, after) = rest.split_at_checked(2)?;
                        rest = after;
                        digits.iter().try_fold(escape - b'0', |value, digit| {
                            matches!(digit, b'0'..=b'7')
                                .then(|| value.wrapping_mul(8).wrapping_add(digit - b'0'))
                        })?
                    }
                    _ => return None,
                });
            }
            _ => name.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["café.txt", "say \"hi\"", "a\u{1}b", "tab\there", "\u{7f}"] {
            let mut out = Vec::new();
            write_name(&mut out, "a/", name);
            let (read, rest) = read_quoted(&out).unwrap();
            assert_eq!((read, rest), (format!("a/{name}").into_bytes(), &b""[..]));
        }
        let mut out = Vec::new();
        write_name(&mut out, "a/", "my notes.txt");
        assert_eq!(out, b"a/my notes.txt");
    }

    #[test]
    fn broken_quotes_are_refused() {
        for text in [&b"\"abc"[..], b"\"\\400\"", b"\"\\q\"", b"\"\\12", b"abc"] {
            assert_eq!(read_quoted(text), None);
        }
    }
}
