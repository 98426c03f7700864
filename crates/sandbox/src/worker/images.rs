//! Trees as sealed memory that workers map, made once for each tree.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use probity_core::repo::Directory;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::fs::{fresh_id, write_image};

/// Trees whose images are kept while the trees themselves are.
const MAX_KEPT: usize = 64;

/// A tree in sealed memory.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) id: u64,
    pub(super) file: File,
}

/// The images of the trees that guests were given.
#[derive(Debug, Default)]
pub(super) struct Images {
    kept: Mutex<Vec<(Weak<Directory>, Arc<Image>)>>,
}

impl Images {
    /// The image of `tree`.
    pub(super) fn of(&self, tree: &Arc<Directory>) -> io::Result<Arc<Image>> {
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.retain(|(tree, _)| tree.strong_count() > 0);
            let known = kept
                .iter()
                .find(|(known, _)| std::ptr::eq(known.as_ptr(), Arc::as_ptr(tree)));
            if let Some((_, image)) = known {
                return Ok(Arc::clone(image));
            }
        }
        let file = sealed_memory(c"probity-tree", |out| write_image(tree, out))?;
        let image = Arc::new(Image {
            id: fresh_id(),
            file,
        });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        kept.push((Arc::downgrade(tree), Arc::clone(&image)));
        Ok(image)
    }
}

/// Memory as a file that nobody can change, cut off or grow any more.
pub(super) fn sealed_memory(
    name: &std::ffi::CStr,
    fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) -> io::Result<File> {
    let file = File::from(memory(name)?);
    let mut out = BufWriter::with_capacity(1 << 16, &file);
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    seal(&file)?;
    Ok(file)
}

/// Memory as a file, to be written and then sealed.
pub(super) fn memory(name: &std::ffi::CStr) -> io::Result<std::os::fd::OwnedFd> {
    Ok(memfd_create(
        name,
        MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
    )?)
}

/// Seals such memory against growing.
pub(super) fn seal_size(file: &File) -> io::Result<()> {
    Ok(fcntl_add_seals(file, SealFlags::GROW)?)
}

/// Seals such memory for good.
pub(super) fn seal(file: &File) -> io::Result<()> {
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    Ok(fcntl_add_seals(file, seals)?)
}
