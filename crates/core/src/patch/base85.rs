//! The base 85 of git's binary hunks (`base85.c` of git): four bytes, the first one
//! highest, as five digits; no padding mark, so the length is told apart.

const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Appends `bytes`; an incomplete last group is filled up with zeros.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(4) {
        let mut padded = [0; 4];
        for (to, from) in padded.iter_mut().zip(group) {
            *to = *from;
        }
        let mut value = u32::from_be_bytes(padded);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            let index = usize::try_from(value % 85).unwrap_or(0);
            *digit = DIGITS.get(index).copied().unwrap_or(b'0');
            value /= 85;
        }
        out.extend_from_slice(&digits);
    }
}

/// Appends the bytes of `digits`, whole groups of five. `None` if a digit is unknown or a
/// group is too large.
pub(super) fn decode(digits: &[u8], out: &mut Vec<u8>) -> Option<()> {
    for group in digits.chunks(5) {
        if group.len() != 5 {
            return None;
        }
        let value = group.iter().try_fold(0_u32, |value, digit| {
            let index = DIGITS.iter().position(|known| known == digit)?;
            value
                .checked_mul(85)?
                .checked_add(u32::try_from(index).ok()?)
        })?;
        out.extend_from_slice(&value.to_be_bytes());
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_round_trip() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut digits = Vec::new();
        encode(&bytes, &mut digits);
        let mut back = Vec::new();
        decode(&digits, &mut back).unwrap();
        assert_eq!(back, bytes);
        digits.clear();
        encode(b"\xff\xff\xff\xff\x01", &mut digits);
        assert_eq!(digits, b"|NsC00RR91");
    }

    #[test]
    fn what_is_no_group_is_refused() {
        for digits in [&b"0000"[..], b"0000\"", b"~~~~~", b"|NsC1"] {
            assert_eq!(decode(digits, &mut Vec::new()), None);
        }
    }
}
