//! A tree as one run of bytes, so that a worker process can map it instead of being sent
//! it file by file.
//!
//! Files come first, each folder's table after everything in it, and the place of the
//! root's table last. Numbers are little-endian:
//!
//! ```text
//! image  = (file | table)… root-offset:u64 magic:[u8; 8]
//! table  = count:u32 entry…
//! entry  = kind:u8 name-length:u32 offset:u64 length:u64 name
//! ```
//!
//! `kind` is 0 for a folder (whose `offset` is that of its table), 1 for a file, 2 for a
//! symbolic link. An image comes from our own parent process; it is read with checked
//! arithmetic nevertheless, and a damaged one shows as an empty folder.

use std::io::{self, Write};
use std::sync::Arc;

use probity_core::repo::{Child, Directory, FileMode};

use super::mapping::{Mapped, Mapping};

const MAGIC: &[u8; 8] = b"probimg1";
const FOLDER: u8 = 0;
const FILE: u8 = 1;
const LINK: u8 = 2;
/// Bytes of the end: root offset and magic.
const TRAILER: usize = 16;

/// Writes the image of `folder`.
///
/// # Errors
/// When `out` does.
pub(crate) fn write_image(folder: &Directory, out: &mut impl Write) -> io::Result<()> {
    let mut writer = Writer { out, at: 0 };
    let root = writer.folder(folder)?;
    writer.put(&root.to_le_bytes())?;
    writer.put(MAGIC)
}

struct Writer<'a, W> {
    out: &'a mut W,
    at: u64,
}

impl<W: Write> Writer<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at = self
            .at
            .saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    /// Writes a folder and everything in it; the place of its table.
    fn folder(&mut self, folder: &Directory) -> io::Result<u64> {
        let mut table = Vec::new();
        let count = u32::try_from(folder.len()).map_err(io::Error::other)?;
        table.extend_from_slice(&count.to_le_bytes());
        for (name, child) in folder.entries() {
            let (kind, offset, length) = match child {
                Child::Directory(inner) => (FOLDER, self.folder(inner)?, 0),
                Child::File(file) => {
                    let kind = if file.mode() == FileMode::Symlink {
                        LINK
                    } else {
                        FILE
                    };
                    let offset = self.at;
                    self.put(file.bytes())?;
                    (kind, offset, self.at.saturating_sub(offset))
                }
            };
            let name_length = u32::try_from(name.len()).map_err(io::Error::other)?;
            table.push(kind);
            table.extend_from_slice(&name_length.to_le_bytes());
            table.extend_from_slice(&offset.to_le_bytes());
            table.extend_from_slice(&length.to_le_bytes());
            table.extend_from_slice(name.as_bytes());
        }
        let offset = self.at;
        self.put(&table)?;
        Ok(offset)
    }
}

/// A folder of a mapped image.
#[derive(Debug, Clone)]
pub(crate) struct ImageFolder {
    mapping: Arc<Mapping>,
    table: u64,
}

/// What an entry of an image is.
pub(crate) enum ImageChild {
    Folder(ImageFolder),
    File(Mapped),
    Link(Arc<str>),
}

impl ImageFolder {
    /// The root of an image; `None` if these bytes are not one.
    pub(crate) fn root(mapping: Arc<Mapping>) -> Option<Self> {
        let bytes = mapping.bytes();
        let trailer = bytes.get(bytes.len().checked_sub(TRAILER)?..)?;
        let (table, magic) = trailer.split_first_chunk::<8>()?;
        let table = u64::from_le_bytes(*table);
        (magic == MAGIC).then_some(Self { mapping, table })
    }

    /// The mapping, if this is the root of its image.
    pub(crate) fn whole(&self) -> Option<&Arc<Mapping>> {
        let root = Self::root(Arc::clone(&self.mapping))?;
        (root.table == self.table).then_some(&self.mapping)
    }

    /// The folder's entries in their order.
    pub(crate) fn entries(&self) -> Vec<(Arc<str>, ImageChild)> {
        self.read().unwrap_or_default()
    }

    fn read(&self) -> Option<Vec<(Arc<str>, ImageChild)>> {
        let start = usize::try_from(self.table).ok()?;
        let (count, mut rest) = self
            .mapping
            .bytes()
            .get(start..)?
            .split_first_chunk::<4>()?;
        let mut entries = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (kind, after) = rest.split_first_chunk::<1>()?;
            let (name_length, after) = after.split_first_chunk::<4>()?;
            let (offset, after) = after.split_first_chunk::<8>()?;
            let (length, after) = after.split_first_chunk::<8>()?;
            let name_length = usize::try_from(u32::from_le_bytes(*name_length)).ok()?;
            let (name, after) = after.split_at_checked(name_length)?;
            let (offset, length) = (u64::from_le_bytes(*offset), u64::from_le_bytes(*length));
            let child = match *kind {
                [FOLDER] => ImageChild::Folder(Self {
                    mapping: Arc::clone(&self.mapping),
                    table: offset,
                }),
                [FILE] => ImageChild::File(Mapped::part(&self.mapping, offset, length)?),
                [LINK] => {
                    let target = Mapped::part(&self.mapping, offset, length)?;
                    ImageChild::Link(Arc::from(String::from_utf8_lossy(target.bytes()).as_ref()))
                }
                _ => return None,
            };
            entries.push((Arc::from(std::str::from_utf8(name).ok()?), child));
            rest = after;
        }
        Some(entries)
    }
}
