//! Open folders by their paths, so that each is opened once and no link is ever followed.
//!
//! A path is walked part by part from the root. A bounded number of folders is kept open;
//! paths come in order, so what was opened last is what is needed next.

use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use probity_core::RepoPath;
use rustix::io::Errno;

use crate::folder::Folder;

/// Most folders kept open: a part of what the process may have open at all.
fn max_open() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    // Without a limit there is still no need for more.
    let quarter = limit.map_or(512, |limit| limit / 4);
    usize::try_from(quarter).unwrap_or(512).clamp(8, 512)
}

/// The folders below a root.
pub(crate) struct Folders {
    root: Rc<Folder>,
    open: BTreeMap<String, Rc<Folder>>,
    max_open: usize,
}

/// How far the way to a folder leads.
pub(crate) enum Way<'p> {
    /// To its end.
    Open(Rc<Folder>),
    /// The name `name` in `folder`, `depth` folders below the root, is absent.
    Absent {
        depth: usize,
        folder: Rc<Folder>,
        name: &'p str,
    },
    /// The name is there and is no folder.
    Blocked {
        depth: usize,
        folder: Rc<Folder>,
        name: &'p str,
    },
}

impl Folders {
    pub(crate) fn new(root: Folder) -> Self {
        Self {
            root: Rc::new(root),
            open: BTreeMap::new(),
            max_open: max_open(),
        }
    }

    pub(crate) fn root(&self) -> Rc<Folder> {
        Rc::clone(&self.root)
    }

    /// Walks to `path`; the empty path is the root.
    pub(crate) fn walk<'p>(&mut self, path: &'p str) -> io::Result<Way<'p>> {
        let mut end = path.len();
        let mut folder = loop {
            let Some(known) = path.get(..end).filter(|known| !known.is_empty()) else {
                end = 0;
                break self.root();
            };
            if let Some(folder) = self.open.get(known) {
                break Rc::clone(folder);
            }
            end = known.rfind('/').unwrap_or(0);
        };
        let mut depth = depth(path.get(..end).unwrap_or(""));
        let rest = path.get(end..).unwrap_or("").trim_start_matches('/');
        for name in rest.split('/').filter(|name| !name.is_empty()) {
            let opened = match folder.folder(name) {
                // The process has no room for more: make some.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::MFILE) => {
                    self.open.clear();
                    folder.folder(name)
                }
                opened => opened,
            };
            let next = match opened {
                Ok(next) => Rc::new(next),
                Err(error) => {
                    return match Errno::from_io_error(&error) {
                        Some(Errno::NOENT) => Ok(Way::Absent {
                            depth,
                            folder,
                            name,
                        }),
                        Some(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => Ok(Way::Blocked {
                            depth,
                            folder,
                            name,
                        }),
                        Some(_) | None => Err(error),
                    };
                }
            };
            end = end
                .saturating_add(usize::from(end > 0))
                .saturating_add(name.len());
            depth = depth.saturating_add(1);
            if let Some(at) = path.get(..end) {
                if self.open.len() >= self.max_open {
                    self.open.clear();
                }
                self.open.insert(at.to_owned(), Rc::clone(&next));
            }
            folder = next;
        }
        Ok(Way::Open(folder))
    }

    /// The folder at `path`, if it is there and a folder.
    pub(crate) fn find(&mut self, path: &str) -> io::Result<Option<Rc<Folder>>> {
        Ok(match self.walk(path)? {
            Way::Open(folder) => Some(folder),
            Way::Absent { .. } | Way::Blocked { .. } => None,
        })
    }

    /// Forgets every open folder, so that the next walk sees the tree as it is.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
    }

    /// Forgets the folder at `path` and everything below it.
    pub(crate) fn forget_below(&mut self, path: &str) {
        self.open.retain(|open, _| {
            let rest = open.strip_prefix(path);
            !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
    }
}

/// How many parts a folder's path has.
fn depth(path: &str) -> usize {
    path.split('/').filter(|part| !part.is_empty()).count()
}

/// How many folders lead to `path`.
pub(crate) fn parents(path: &RepoPath) -> usize {
    depth(path.as_str()).saturating_sub(1)
}

/// The first `depth` parts of `path`, as a path.
pub(crate) fn prefix(path: &RepoPath, depth: usize) -> &str {
    let text = path.as_str();
    let Some(last) = depth.checked_sub(1) else {
        return "";
    };
    let end = text.match_indices('/').nth(last).map(|(at, _)| at);
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

/// The path of the folder that holds `path`; empty for the root.
pub(crate) fn parent(path: &RepoPath) -> &str {
    path.as_str()
        .rsplit_once('/')
        .map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::steps::Steps;

    fn folders(root: &std::path::Path) -> Folders {
        let steps = Arc::new(Steps::default());
        Folders::new(Folder::reopen(std::fs::File::open(root).unwrap(), &steps).unwrap())
    }

    #[test]
    fn prefixes_count_parts() {
        let path: RepoPath = "a/bc/d".parse().unwrap();
        let all: Vec<&str> = (0..5).map(|depth| prefix(&path, depth)).collect();
        assert_eq!(all, ["", "a", "a/bc", "a/bc/d", "a/bc/d"]);
        assert_eq!(parents(&path), 2);
        assert_eq!(parent(&path), "a/bc");
        assert_eq!(parent(&"x".parse().unwrap()), "");
    }

    #[test]
    fn a_walk_ends_where_the_folders_do() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("a/b")).unwrap();
        std::fs::write(root.path().join("a/file"), "").unwrap();
        std::os::unix::fs::symlink("b", root.path().join("a/link")).unwrap();
        let mut folders = folders(root.path());
        for _ in 0..2 {
            assert!(matches!(folders.walk("").unwrap(), Way::Open(_)));
            assert!(matches!(folders.walk("a/b").unwrap(), Way::Open(_)));
            assert!(matches!(
                folders.walk("a/b/c/d").unwrap(),
                Way::Absent {
                    depth: 2,
                    name: "c",
                    ..
                }
            ));
            for name in ["file", "link"] {
                let path = format!("a/{name}/x");
                let Way::Blocked {
                    depth, name: at, ..
                } = folders.walk(&path).unwrap()
                else {
                    panic!("{name} is no folder");
                };
                assert_eq!((depth, at), (1, name));
            }
        }
    }

    #[test]
    fn forgetting_spares_names_that_only_begin_alike() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a/b", "ab"] {
            std::fs::create_dir_all(root.path().join(name)).unwrap();
        }
        let mut folders = folders(root.path());
        folders.walk("a/b").unwrap();
        folders.walk("ab").unwrap();
        folders.forget_below("a");
        assert_eq!(folders.open.keys().collect::<Vec<_>>(), ["ab"]);
    }

    #[test]
    fn more_folders_than_stay_open_are_all_found() {
        let root = tempfile::tempdir().unwrap();
        let deep = "d/".repeat(40);
        let deep = deep.trim_end_matches('/');
        std::fs::create_dir_all(root.path().join(deep)).unwrap();
        let mut folders = folders(root.path());
        folders.max_open = 8;
        assert!(folders.find(deep).unwrap().is_some());
        assert!(folders.find(deep).unwrap().is_some());
        assert!(folders.open.len() <= 8);
    }
}
