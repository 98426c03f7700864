//! A tree of files in memory, and what differs between two.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// A file: its bytes and whether its owner may execute it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: Mode,
}

/// What git keeps of a file's permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Regular,
    Executable,
}

/// Files by path, with `/` between the parts, and folders in which there is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, File>,
    pub(crate) empty_folders: BTreeSet<String>,
}

impl Tree {
    /// Reads a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read_below(folder, "")?;
        Ok(tree)
    }

    fn read_below(&mut self, folder: &Path, prefix: &str) -> Result<()> {
        let mut empty = true;
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            empty = false;
            let name = entry.file_name();
            let name = name.to_str().context("a name is not UTF-8")?;
            let path = format!("{prefix}{name}");
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                self.read_below(&entry.path(), &format!("{path}/"))?;
            } else if metadata.is_file() {
                let file = File {
                    bytes: fs::read(entry.path())?,
                    mode: mode(&metadata),
                };
                self.files.insert(path, file);
            } else {
                bail!("`{path}` is neither a file nor a folder");
            }
        }
        if empty && !prefix.is_empty() {
            self.empty_folders.insert(prefix.to_owned());
        }
        Ok(())
    }

    /// Writes the files into a folder that is made anew.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let mut made = BTreeSet::new();
        for (path, file) in &self.files {
            let target = folder.join(path);
            if let Some(parent) = target.parent()
                && made.insert(parent.to_owned())
            {
                fs::create_dir_all(parent)?;
            }
            fs::write(&target, &file.bytes).with_context(|| format!("cannot write `{path}`"))?;
            if file.mode == Mode::Executable {
                make_executable(&target)?;
            }
        }
        Ok(())
    }

    /// Says where this tree first differs from the expected one, if it does.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        let paths: BTreeSet<&String> = self.files.keys().chain(expected.files.keys()).collect();
        let of_files = paths.into_iter().find_map(|path| {
            let what = match (self.files.get(path), expected.files.get(path)) {
                (None, Some(_)) => "is missing".to_owned(),
                (Some(_), None) => "should not be there".to_owned(),
                (Some(here), Some(there)) if here.bytes != there.bytes => {
                    let same = here.bytes.iter().zip(&there.bytes);
                    let at = same.take_while(|(here, there)| here == there).count();
                    format!("differs from byte {at} on")
                }
                (Some(here), Some(there)) if here.mode != there.mode => {
                    "differs in its executable bit".to_owned()
                }
                (Some(_), Some(_)) | (None, None) => return None,
            };
            Some(format!("`{}` {what}", path.escape_debug()))
        });
        of_files.or_else(|| {
            let mut folders = self
                .empty_folders
                .symmetric_difference(&expected.empty_folders);
            folders
                .next()
                .map(|folder| format!("the empty folder `{folder}` is in one of the trees only"))
        })
    }
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> Mode {
    use std::os::unix::fs::PermissionsExt as _;
    if metadata.permissions().mode() & 0o100 == 0 {
        Mode::Regular
    } else {
        Mode::Executable
    }
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> Mode {
    Mode::Regular
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(
        path,
        fs::Permissions::from_mode(0o755),
    )?)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    bail!("this system has no executable bits, which the test compares")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str, Mode)]) -> Tree {
        let files = files.iter().map(|(path, text, mode)| {
            let file = File {
                bytes: text.as_bytes().to_vec(),
                mode: *mode,
            };
            ((*path).to_owned(), file)
        });
        Tree {
            files: files.collect(),
            empty_folders: BTreeSet::new(),
        }
    }

    #[test]
    fn the_first_difference_is_named() {
        let here = tree(&[("a", "one", Mode::Regular), ("b", "x", Mode::Regular)]);
        assert_eq!(here.difference(&here), None);
        let bytes = tree(&[("a", "ore", Mode::Regular), ("b", "x", Mode::Regular)]);
        assert_eq!(
            here.difference(&bytes).unwrap(),
            "`a` differs from byte 1 on"
        );
        let mode = tree(&[("a", "one", Mode::Regular), ("b", "x", Mode::Executable)]);
        assert!(here.difference(&mode).unwrap().contains("executable"));
        let less = tree(&[("a", "one", Mode::Regular)]);
        assert_eq!(less.difference(&here).unwrap(), "`b` is missing");
        assert_eq!(here.difference(&less).unwrap(), "`b` should not be there");
        let mut folder = here.clone();
        folder.empty_folders.insert("c/".to_owned());
        assert!(here.difference(&folder).unwrap().contains("`c/`"));
    }
}
