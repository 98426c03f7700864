//! Installed wheels as a layer of the guest's filesystem.
//!
//! Wheels are archives from outside: names, counts and sizes are bounded, and native code
//! is left out, since it cannot run here (packages that have a pure fallback then use it).
//! The layer is compiled to bytecode once, in the guest, and kept by digest.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};

use probity_core::repo::File;
use probity_core::{Budget, Digest, Repo, RepoPath};

use super::lock::{Lock, WheelStore};
use super::support;
use crate::engine::{private_folder, write_atomically};
use crate::fs::{Access, Device, Devices, Mounts};
use crate::guest::{Ending, Invocation, RunError};
use crate::runtime::Runtime;
use crate::sandbox::Sandbox;

/// Most files in one layer.
const MAX_FILES: usize = 100_000;
/// Most bytes in one layer, unpacked.
const MAX_BYTES: u64 = 1 << 30;
/// Changes whenever the form of a kept layer does.
const LAYOUT: &[u8] = b"probity site layer 1\n";

/// The layers that a suite mounts.
#[derive(Debug, Clone)]
pub struct Site {
    /// Installed packages, at `/site`.
    pub packages: Repo,
    /// Our own Python files, at `/probity`.
    pub support: Repo,
}

/// A layer cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// Wheels of the lock are not in the cache.
    #[error("not in the cache: {}", names.join(", "))]
    Missing {
        /// The packages, as `name==version`.
        names: Vec<String>,
    },
    /// A wheel cannot be installed.
    #[error("cannot install `{wheel}`: {problem}")]
    Wheel {
        /// The package, as `name==version`.
        wheel: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The cache cannot be used.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What failed.
        source: std::io::Error,
    },
    /// Bytecode could not be made.
    #[error("cannot compile the packages: {0}")]
    Compile(String),
    /// The guest that compiles could not be run.
    #[error("cannot compile the packages")]
    Run(#[from] RunError),
}

/// The layers in the cache.
#[derive(Debug, Clone)]
pub struct SiteStore {
    folder: PathBuf,
}

impl SiteStore {
    /// The store in `folder`, which is made when a layer is kept.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The layer of `lock` for `runtime`, from the cache or made now.
    ///
    /// # Errors
    /// When wheels are missing or damaged, or the cache cannot be used.
    pub fn open(
        &self,
        lock: &Lock,
        wheels: &WheelStore,
        runtime: &Runtime,
        sandbox: &Sandbox,
    ) -> Result<Site, SiteError> {
        let missing = wheels.missing(lock);
        if !missing.is_empty() {
            return Err(SiteError::Missing {
                names: missing
                    .iter()
                    .map(|wheel| format!("{}=={}", wheel.name, wheel.version))
                    .collect(),
            });
        }
        let found: Vec<(String, Digest, PathBuf)> = lock
            .requirements
            .iter()
            .filter_map(|wanted| {
                let (digest, path) = wheels.find(wanted)?;
                Some((format!("{}=={}", wanted.name, wanted.version), digest, path))
            })
            .collect();
        let support = support::tree();
        let key = key(&found, runtime, &support);
        let path = self.folder.join(format!("{}.zip", key.to_hex()));
        if let Some(site) = fs::read(&path).ok().and_then(|bytes| unpack_layer(&bytes)) {
            return Ok(site);
        }
        let mut packages = Repo::new();
        for (name, _, path) in &found {
            install(&mut packages, name, path)?;
        }
        let site = compile(Site { packages, support }, runtime, sandbox)?;
        let io_error = |source| SiteError::Io {
            path: path.clone(),
            source,
        };
        private_folder(&self.folder).map_err(io_error)?;
        let packed = pack_layer(&site).map_err(io_error)?;
        write_atomically(&path, &packed).map_err(io_error)?;
        Ok(site)
    }
}

fn key(wheels: &[(String, Digest, PathBuf)], runtime: &Runtime, support: &Repo) -> Digest {
    let support = support.digest();
    let module = runtime.module.digest();
    let mut digests: Vec<&Digest> = wheels.iter().map(|(_, digest, _)| digest).collect();
    digests.sort();
    let parts = [&support, &module].into_iter().chain(digests);
    Digest::of_parts(std::iter::once(LAYOUT).chain(parts.map(|digest| &digest.as_bytes()[..])))
}

/// Adds a wheel's files to the tree, as pip's installer lays them out.
fn install(tree: &mut Repo, wheel: &str, path: &Path) -> Result<(), SiteError> {
    let fail = |problem: String| SiteError::Wheel {
        wheel: wheel.to_owned(),
        problem,
    };
    let file = fs::File::open(path).map_err(|source| SiteError::Io {
        path: path.to_owned(),
        source,
    })?;
    let mut zip = zip::ZipArchive::new(file).map_err(|error| fail(error.to_string()))?;
    for index in 0..zip.len() {
        let mut entry = zip
            .by_index(index)
            .map_err(|error| fail(error.to_string()))?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().to_owned();
        let Some(to) = installed_path(&name) else {
            continue;
        };
        let to = RepoPath::new(to).map_err(|error| fail(error.to_string()))?;
        let room = MAX_BYTES.saturating_sub(tree.total_bytes());
        let mut bytes = Vec::new();
        let read = entry
            .by_ref()
            .take(room.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| fail(error.to_string()))?;
        if u64::try_from(read).unwrap_or(u64::MAX) > room || tree.len() >= MAX_FILES {
            return Err(fail(
                "the packages are larger than 1 GiB or 100,000 files".to_owned(),
            ));
        }
        if to.name() == "RECORD" {
            bytes = record_without_absent_files(&bytes);
        }
        tree.insert(&to, File::regular(bytes))
            .map_err(|error| fail(error.to_string()))?;
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

/// Adds bytecode to both trees, made by the runtime itself.
fn compile(mut site: Site, runtime: &Runtime, sandbox: &Sandbox) -> Result<Site, SiteError> {
    let budget = Budget::suite();
    let mut mounts = Mounts::new(Devices::None);
    runtime.mount(&mut mounts);
    mounts.folder("/site", site.packages.root(), Access::ReadOnly);
    mounts.folder("/probity", site.support.root(), Access::ReadOnly);
    mounts.empty("/tmp", Access::Writable);
    mounts.device("/dev/results", Device::Results);
    let args = [
        runtime.manifest.module.program.as_str(),
        "/probity/compile_site.py",
        "/dev/results",
        "/site",
        "/probity",
    ];
    let mut invocation = Invocation::command(args.map(str::to_owned).to_vec(), mounts, budget);
    invocation.entry = runtime.manifest.module.entry.into();
    invocation.env = runtime.manifest.env.clone().into_iter().collect();
    invocation.preopens = vec!["/".to_owned()];
    let run = sandbox.run(invocation, &runtime.module)?;
    if run.ending != Ending::Exited(0) {
        return Err(SiteError::Compile(format!(
            "it ended as {:?}: {}",
            run.ending,
            String::from_utf8_lossy(&run.stderr.bytes)
        )));
    }
    let trees = BTreeMap::from([("site", &mut site.packages), ("probity", &mut site.support)]);
    add_from_zip(&run.results, trees).map_err(SiteError::Compile)?;
    Ok(site)
}

/// Adds the members of an archive to the trees named by their first folder.
fn add_from_zip(bytes: &[u8], mut trees: BTreeMap<&str, &mut Repo>) -> Result<(), String> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|error| error.to_string())?;
        let name = entry.name().to_owned();
        let (top, path) = name.split_once('/').ok_or("a file without a folder")?;
        let tree = trees.get_mut(top).ok_or("a file in an unknown folder")?;
        let path = RepoPath::new(path).map_err(|error| error.to_string())?;
        let mut content = Vec::new();
        entry
            .by_ref()
            .take(MAX_BYTES)
            .read_to_end(&mut content)
            .map_err(|error| error.to_string())?;
        tree.insert(&path, File::regular(content))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn pack_layer(site: &Site) -> std::io::Result<Vec<u8>> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (top, tree) in [("site", &site.packages), ("probity", &site.support)] {
        for (path, file) in tree.files() {
            zip.start_file(format!("{top}/{path}"), options)?;
            zip.write_all(file.bytes())?;
        }
    }
    Ok(zip.finish()?.into_inner())
}

fn unpack_layer(bytes: &[u8]) -> Option<Site> {
    let (mut packages, mut support) = (Repo::new(), Repo::new());
    let trees = BTreeMap::from([("site", &mut packages), ("probity", &mut support)]);
    add_from_zip(bytes, trees).ok()?;
    Some(Site { packages, support })
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

    #[test]
    fn a_layer_survives_packing() {
        let mut packages = Repo::new();
        packages
            .insert(&"a/b.py".parse().unwrap(), File::regular(*b"x = 1\n"))
            .unwrap();
        let site = Site {
            packages: packages.clone(),
            support: support::tree(),
        };
        let again = unpack_layer(&pack_layer(&site).unwrap()).unwrap();
        assert_eq!(again.packages.digest(), packages.digest());
        assert_eq!(again.support.digest(), site.support.digest());
        assert!(unpack_layer(b"PK damaged").is_none());
    }
}
