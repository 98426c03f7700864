//! Installing wheels into a tree.
//!
//! Wheels are archives from outside: names, counts and sizes are bounded, and native code
//! is left out, since it cannot run here (packages that have a pure fallback then use it).

use std::io::{Cursor, Read as _};

use probity_core::repo::File;
use probity_core::{Repo, RepoPath};

/// Most files in one tree.
pub(super) const MAX_FILES: usize = 100_000;
/// Most bytes in one tree, unpacked.
pub(super) const MAX_BYTES: u64 = 1 << 30;

/// Adds a wheel's files to the tree, as pip's installer lays them out.
///
/// # Errors
/// Says what is wrong with the wheel.
pub(super) fn install(tree: &mut Repo, wheel: &[u8]) -> Result<(), String> {
    let mut zip = zip::ZipArchive::new(Cursor::new(wheel)).map_err(|error| error.to_string())?;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| error.to_string())?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().to_owned();
        let Some(to) = installed_path(&name) else {
            continue;
        };
        let to = RepoPath::new(to).map_err(|error| error.to_string())?;
        let room = MAX_BYTES.saturating_sub(tree.total_bytes());
        let mut bytes = Vec::new();
        let read = entry
            .by_ref()
            .take(room.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        if u64::try_from(read).unwrap_or(u64::MAX) > room || tree.len() >= MAX_FILES {
            return Err("the packages are larger than 1 GiB or 100,000 files".to_owned());
        }
        if to.name() == "RECORD" {
            bytes = record_without_absent_files(&bytes);
        }
        tree.insert(&to, File::regular(bytes))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Where a member of a wheel is installed; `None` for what cannot be used here: native
/// code, scripts, headers and data outside the packages.
fn installed_path(name: &str) -> Option<&str> {
    if name.ends_with(".so") || name.ends_with(".pyd") || name.ends_with(".dylib") {
        return None;
    }
    let Some((top, rest)) = name.split_once('/') else {
        return Some(name);
    };
    if !top.ends_with(".data") {
        return Some(name);
    }
    let (scheme, inside) = rest.split_once('/')?;
    matches!(scheme, "purelib" | "platlib").then_some(inside)
}

/// `RECORD` lists files that are not installed here (scripts, native code); tools that look
/// each of them up would stumble.
fn record_without_absent_files(record: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(record)
        .lines()
        .filter(|line| {
            let path = line.split(',').next().unwrap_or("");
            !path.starts_with("../") && installed_path(path) == Some(path)
        })
        .flat_map(|line| [line, "\n"])
        .collect::<String>()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_install_where_pip_puts_them() {
        assert_eq!(installed_path("six.py"), Some("six.py"));
        assert_eq!(
            installed_path("yaml/_yaml.cpython-311-x86_64-linux-gnu.so"),
            None
        );
        assert_eq!(installed_path("x-1.data/purelib/x/a.py"), Some("x/a.py"));
        assert_eq!(installed_path("x-1.data/scripts/x"), None);
    }

    #[test]
    fn records_name_only_what_is_there() {
        let record = b"a.py,sha256=x,1\n../../bin/a,,\na.so,,\nx-1.data/scripts/a,,\n";
        assert_eq!(record_without_absent_files(record), b"a.py,sha256=x,1\n");
    }
}
