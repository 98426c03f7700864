//! Finding what a file system that ignores case or normalises Unicode would take for a
//! path that a patch creates.
//!
//! The parts of those paths form a tree, folded. Each folder of the disk that is on the
//! way to one of them, in whatever spelling, is listed once.

use std::collections::BTreeMap;

use probity_core::RepoPath;
use probity_core::repo::{FileMode, fold};

use crate::error::LoadError;
use crate::folder::{Folder, Kind};
use crate::sparse::{SparseReader, failed};

/// What is looked for in a folder.
#[derive(Default)]
pub(crate) struct Wanted {
    /// By folded name.
    below: BTreeMap<String, Wanted>,
    /// Whether a path ends here.
    is_end: bool,
}

impl Wanted {
    pub(crate) fn new<'p>(paths: impl Iterator<Item = &'p RepoPath>) -> Self {
        let mut wanted = Self::default();
        for path in paths {
            let end = path.parts().fold(&mut wanted, |at, part| {
                at.below.entry(fold(part)).or_default()
            });
            end.is_end = true;
        }
        wanted
    }

    /// Shows `reader` everything in `folder`, which is at `at`, that is spelled like what
    /// is wanted but for case or normalisation.
    pub(crate) fn find(
        &self,
        reader: &mut SparseReader<'_>,
        folder: &Folder,
        at: Option<&RepoPath>,
    ) -> Result<(), LoadError> {
        if self.below.is_empty() {
            return Ok(());
        }
        for name in folder.names().map_err(failed(at))? {
            let name = name.map_err(failed(at))?;
            let Ok(name) = name.to_str() else { continue };
            let Some(wanted) = self.below.get(&fold(name)) else {
                continue;
            };
            let path = match at {
                Some(at) => at.join(name),
                None => RepoPath::new(name),
            };
            let Ok(path) = path else { continue };
            let found = folder.metadata(name).map_err(failed(Some(&path)))?;
            match found.map(|metadata| metadata.kind) {
                Some(Kind::Folder) => {
                    let inner = folder.folder(name).map_err(failed(Some(&path)))?;
                    if wanted.is_end {
                        reader.show_folder(&inner, &path)?;
                    }
                    wanted.find(reader, &inner, Some(&path))?;
                }
                Some(Kind::Link) => reader.put_stand_in(&path, FileMode::Symlink)?,
                Some(Kind::File | Kind::Special) => {
                    reader.put_stand_in(&path, FileMode::Regular)?;
                }
                None => {}
            }
        }
        Ok(())
    }
}
