//! Unpacking a release: `.crate` files and source distributions, both gzipped tar archives.
//!
//! The first folder of every path is cut off. Links and special files are left out, as
//! Probity refuses links by design. Sizes and counts are bounded before anything is kept.
//! Deliberately absent: zip archives.

use std::io::Read as _;

use anyhow::{Context as _, Result, ensure};

use super::tree::{File, Mode, Tree};

/// Most entries of one archive.
const MAX_ENTRIES: usize = 20_000;
/// Most bytes of one unpacked archive, with the headers of its entries.
const MAX_BYTES: u64 = 256 << 20;

/// Unpacks an archive into memory.
pub(crate) fn unpack(archive: &[u8]) -> Result<Tree> {
    let bytes = flate2::read::GzDecoder::new(archive).take(MAX_BYTES);
    let mut tar = tar::Archive::new(bytes);
    let mut tree = Tree::default();
    for (count, entry) in tar.entries()?.enumerate() {
        ensure!(
            count < MAX_ENTRIES,
            "it has more than {MAX_ENTRIES} entries"
        );
        let mut entry = entry.context("it is not a tar archive, or too large")?;
        let kind = entry.header().entry_type();
        if !(kind.is_file() || kind.is_contiguous()) {
            continue;
        }
        let name = entry.path_bytes().into_owned();
        let Some(path) = inner_path(&name)? else {
            continue;
        };
        let mode = if entry.header().mode()? & 0o100 == 0 {
            Mode::Regular
        } else {
            Mode::Executable
        };
        let size = entry.size();
        // The reader is bounded, so this is, whatever size the header claims.
        let mut bytes = Vec::new();
        entry
            .read_to_end(&mut bytes)
            .with_context(|| format!("cannot unpack `{path}`"))?;
        ensure!(
            u64::try_from(bytes.len())? == size,
            "`{path}` is cut off, or the archive is too large"
        );
        tree.files.insert(path, File { bytes, mode });
    }
    ensure!(!tree.files.is_empty(), "there is no file in it");
    Ok(tree)
}

/// The path without its first folder; nothing for a file that lies beside that folder.
fn inner_path(name: &[u8]) -> Result<Option<String>> {
    let name = std::str::from_utf8(name).context("a name in it is not UTF-8")?;
    let name = name.strip_prefix("./").unwrap_or(name);
    let unsafe_name = || format!("the name {name:?} is not safe");
    let canonical = name
        .split('/')
        .all(|part| !matches!(part, "" | "." | ".." | ".git"));
    let plain = !name.chars().any(|c| c.is_control() || c == '\\');
    ensure!(canonical && plain, unsafe_name());
    Ok(name.split_once('/').map(|(_, inner)| inner.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_folder_is_cut_off_and_unsafe_names_are_refused() {
        let inner = |name: &str| inner_path(name.as_bytes()).unwrap();
        assert_eq!(inner("x-1.0/src/a b.rs").as_deref(), Some("src/a b.rs"));
        assert_eq!(inner("./x-1.0/ä").as_deref(), Some("ä"));
        assert_eq!(inner("x-1.0"), None);
        for name in [
            "/etc/x",
            "x/../y",
            "x/./y",
            "x//y",
            "x/.git/config",
            "x/a\nb",
            "x\\y",
        ] {
            assert!(inner_path(name.as_bytes()).is_err(), "{name:?}");
        }
        assert!(inner_path(b"x/\xff").is_err());
    }
}
