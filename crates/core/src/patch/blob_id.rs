//! The name that git gives the content of a file.
//!
//! The hash of `blob <length>\0<content>`, by SHA-1 or, in repositories that say so, by
//! SHA-256 (gitformat-pack, hash-function-transition). Here ids only compare a file with
//! what a diff says of it; nothing is trusted for having one.

use std::fmt;

use sha1::{Digest as _, Sha1};

use crate::Digest;

/// The id of a blob, as the `index` line of a diff states it in full.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BlobId {
    /// 20 bytes, 40 hexadecimal digits.
    Sha1([u8; 20]),
    /// 32 bytes, 64 hexadecimal digits.
    Sha256([u8; 32]),
}

impl BlobId {
    /// The SHA-1 id of `content`.
    #[must_use]
    pub fn sha1_of(content: &[u8]) -> Self {
        let mut hasher = Sha1::new();
        hasher.update(header(content));
        hasher.update(content);
        Self::Sha1(hasher.finalize().into())
    }

    /// The SHA-256 id of `content`.
    #[must_use]
    pub fn sha256_of(content: &[u8]) -> Self {
        let header = header(content);
        Self::Sha256(*Digest::of_parts([header.as_bytes(), content]).as_bytes())
    }

    /// Reads 40 or 64 hexadecimal digits; anything else, an abbreviated id too, is `None`.
    #[must_use]
    pub fn parse(digits: &[u8]) -> Option<Self> {
        match digits.len() {
            40 => {
                let mut bytes = [0; 20];
                hex::decode_to_slice(digits, &mut bytes).ok()?;
                Some(Self::Sha1(bytes))
            }
            64 => {
                let mut bytes = [0; 32];
                hex::decode_to_slice(digits, &mut bytes).ok()?;
                Some(Self::Sha256(bytes))
            }
            _ => None,
        }
    }

    /// Whether this is the id of `content`.
    #[must_use]
    pub fn names(&self, content: &[u8]) -> bool {
        match self {
            Self::Sha1(_) => *self == Self::sha1_of(content),
            Self::Sha256(_) => *self == Self::sha256_of(content),
        }
    }

    /// Whether this is the id of no file at all: only zeros.
    #[must_use]
    pub fn is_null(&self) -> bool {
        match self {
            Self::Sha1(bytes) => bytes.iter().all(|byte| *byte == 0),
            Self::Sha256(bytes) => bytes.iter().all(|byte| *byte == 0),
        }
    }

    /// Whether both are made by the same hash function.
    #[must_use]
    pub const fn is_like(&self, other: &Self) -> bool {
        matches!(
            (self, other),
            (Self::Sha1(_), Self::Sha1(_)) | (Self::Sha256(_), Self::Sha256(_))
        )
    }
}

fn header(content: &[u8]) -> String {
    format!("blob {}\0", content.len())
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha1(bytes) => f.write_str(&hex::encode(bytes)),
            Self::Sha256(bytes) => f.write_str(&hex::encode(bytes)),
        }
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git() {
        // `printf 'hello\n' | git hash-object --stdin`, and in a repository of SHA-256.
        let sha1 = "ce013625030ba8dba906f756967f9e9ca394464a";
        let sha256 = "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4";
        for id in [sha1, sha256] {
            let parsed = BlobId::parse(id.as_bytes()).unwrap();
            assert_eq!(parsed.to_string(), id);
            assert!(parsed.names(b"hello\n"));
            assert!(!parsed.names(b"hello"));
        }
        assert_eq!(BlobId::parse(b"ce01362"), None);
        assert_eq!(BlobId::parse(&[b'x'; 40]), None);
        assert!(BlobId::parse(&[b'0'; 40]).unwrap().is_null());
    }
}
