//! Paths that a file system which ignores case or normalises Unicode would merge.
//!
//! A patch must not create one: on such a system the tree could no longer be checked out,
//! or one file would silently stand for another.

use std::collections::BTreeMap;

use crate::repo::{Child, Directory, RepoPath, fold};

type Names<'a> = BTreeMap<String, Vec<(&'a str, &'a Child)>>;

/// A tree with its folded names, made folder by folder as they are asked for.
pub(super) struct FoldedTree<'a> {
    root: &'a Directory,
    folders: BTreeMap<usize, Names<'a>>,
}

impl<'a> FoldedTree<'a> {
    pub(super) const fn new(root: &'a Directory) -> Self {
        Self {
            root,
            folders: BTreeMap::new(),
        }
    }

    /// Another file or folder of the tree whose path is the same as `path` but for case or
    /// normalisation, or a file in the place of one of its folders.
    pub(super) fn clash(&mut self, path: &RepoPath) -> Option<String> {
        let mut folders = vec![(String::new(), self.root)];
        let mut parts = path.parts().peekable();
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            let folded = fold(part);
            let mut deeper = Vec::new();
            for (prefix, folder) in folders {
                let same = self.names(folder).get(&folded).into_iter().flatten();
                for (name, child) in same {
                    let found = format!("{prefix}{name}");
                    match child {
                        _ if last && found == path.as_str() => {}
                        Child::Directory(folder) if !last => {
                            deeper.push((format!("{found}/"), folder.as_ref()));
                        }
                        Child::File(_) | Child::Directory(_) => return Some(found),
                    }
                }
            }
            folders = deeper;
        }
        None
    }

    fn names(&mut self, folder: &'a Directory) -> &Names<'a> {
        let key = std::ptr::from_ref(folder).addr();
        self.folders.entry(key).or_insert_with(|| {
            let mut names = Names::new();
            for (name, child) in folder.entries() {
                names.entry(fold(name)).or_default().push((name, child));
            }
            names
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::{File, Repo};

    #[test]
    fn names_that_would_merge_are_found() {
        let mut tree = Repo::new();
        for name in ["Src/a.txt", "src/b.txt", "caf\u{e9}", "folder/x", "Readme"] {
            tree.insert(&name.parse().unwrap(), File::regular(*b""))
                .unwrap();
        }
        let mut folded = FoldedTree::new(tree.root());
        let mut clash = |path: &str| folded.clash(&path.parse().unwrap());
        assert_eq!(clash("src/A.TXT"), Some("Src/a.txt".to_owned()));
        assert_eq!(clash("cafe\u{301}"), Some("caf\u{e9}".to_owned()));
        assert_eq!(clash("FOLDER"), Some("folder".to_owned()));
        assert_eq!(clash("readme/x"), Some("Readme".to_owned()));
        assert_eq!(clash("src/b.txt"), None, "the path itself");
        assert_eq!(clash("SRC/c.txt"), None, "a folder may be spelled twice");
    }
}
