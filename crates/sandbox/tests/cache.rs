//! The cache of compiled code gives back what it was given, or nothing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test has nobody to report to"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use probity_core::{Budget, Digest};
use probity_sandbox::fs::Mounts;
use probity_sandbox::{CodeCache, Ending, Invocation, Sandbox, Trust};

const QUIET: &str = r#"(module (memory (export "memory") 1) (func (export "_start")))"#;
const TRAPS: &str = r#"(module (memory (export "memory") 1) (func (export "_start") unreachable))"#;

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn code(&self) -> PathBuf {
        self.folder.path().join("compiled")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("state/key")
    }

    /// A new start of the program.
    fn sandbox(&self) -> Sandbox {
        let cache = CodeCache::open(&self.code(), &self.key()).unwrap();
        Sandbox::in_process(Some(cache)).unwrap()
    }

    /// Compiles a module; its digest.
    fn compile(&self, text: &str) -> Digest {
        let bytes = wat::parse_str(text).unwrap();
        let module = self
            .sandbox()
            .module(&bytes, &Budget::check(), Trust::Untrusted);
        module.unwrap().unwrap().digest()
    }

    fn has(&self, digest: Digest) -> bool {
        self.sandbox().cached(digest).is_some()
    }

    /// The code and the seal of a module.
    fn entry(&self, digest: Digest) -> (PathBuf, PathBuf) {
        let named = |suffix: &str| {
            let mut found = fs::read_dir(self.code()).unwrap().filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                (name.starts_with(&digest.to_hex()) && name.ends_with(suffix))
                    .then(|| self.code().join(name))
            });
            found.next().unwrap()
        };
        (named(".cwasm"), named(".seal"))
    }
}

/// Changes a file through a new one, as it may be mapped.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn what_was_kept_is_found_and_runs() {
    let scene = Scene::new();
    let digest = scene.compile(QUIET);
    let sandbox = scene.sandbox();
    let module = sandbox.cached(digest).unwrap();
    let invocation =
        Invocation::command(vec!["guest".to_owned()], Mounts::default(), Budget::check());
    let run = sandbox.run(invocation, &module).unwrap();
    assert_eq!(run.ending, Ending::Exited(0));
    assert!(!scene.has(Digest::of(b"another module")));
}

#[test]
fn a_damaged_entry_is_not_loaded_and_made_again() {
    let scene = Scene::new();
    let digest = scene.compile(QUIET);
    let (code, _) = scene.entry(digest);
    let sound = fs::read(&code).unwrap();
    for at in [0, sound.len() / 2, sound.len() - 1] {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        replace(&code, &bytes);
        assert!(!scene.has(digest), "one bit at {at}");
    }
    for length in [0, 1, sound.len() / 2, sound.len() - 1] {
        replace(&code, &sound[..length]);
        assert!(!scene.has(digest), "cut to {length} bytes");
    }
    replace(&code, &[sound.as_slice(), b"x"].concat());
    assert!(!scene.has(digest), "one byte more");
    scene.compile(QUIET);
    assert!(scene.has(digest));
}

#[test]
fn writing_in_place_with_the_old_times_does_not_help() {
    let scene = Scene::new();
    let digest = scene.compile(QUIET);
    let (code, _) = scene.entry(digest);
    let times = fs::metadata(&code).unwrap().modified().unwrap();
    let mut bytes = fs::read(&code).unwrap();
    bytes[4000] ^= 1;
    let file = fs::OpenOptions::new().write(true).open(&code).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    file.set_modified(times).unwrap();
    assert!(!scene.has(digest));
}

#[test]
fn an_entry_in_the_place_of_another_is_not_loaded() {
    let scene = Scene::new();
    let (quiet, traps) = (scene.compile(QUIET), scene.compile(TRAPS));
    let (from, to) = (scene.entry(traps), scene.entry(quiet));
    fs::copy(&from.0, &to.0).unwrap();
    assert!(!scene.has(quiet), "with the seal of the one");
    fs::copy(&from.1, &to.1).unwrap();
    assert!(!scene.has(quiet), "with the seal of the other");
    assert!(scene.has(traps));
}

#[test]
fn a_cache_from_elsewhere_proves_nothing() {
    let (here, elsewhere) = (Scene::new(), Scene::new());
    let digest = elsewhere.compile(QUIET);
    here.compile(TRAPS);
    for path in [elsewhere.entry(digest).0, elsewhere.entry(digest).1] {
        fs::copy(&path, here.code().join(path.file_name().unwrap())).unwrap();
    }
    assert!(!here.has(digest));
    // Nor does the own one when the key is gone.
    let digest = here.compile(QUIET);
    assert!(here.has(digest));
    fs::remove_file(here.key()).unwrap();
    assert!(!here.has(digest));
}

#[test]
fn without_its_seal_an_entry_is_nothing() {
    let scene = Scene::new();
    let digest = scene.compile(QUIET);
    let (_, seal) = scene.entry(digest);
    let sound = fs::read(&seal).unwrap();
    for length in [0, 31, 32, sound.len() - 1] {
        fs::write(&seal, &sound[..length]).unwrap();
        // The notes may be missing; the hash of the bytes may not.
        assert_eq!(scene.has(digest), length >= 32, "{length}");
    }
    fs::remove_file(&seal).unwrap();
    assert!(!scene.has(digest));
}

#[test]
fn what_others_may_write_is_not_used() {
    let scene = Scene::new();
    let digest = scene.compile(QUIET);
    let (code, _) = scene.entry(digest);
    fs::set_permissions(&code, fs::Permissions::from_mode(0o622)).unwrap();
    assert!(!scene.has(digest));
    fs::set_permissions(&code, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(scene.has(digest));
    fs::set_permissions(scene.key(), fs::Permissions::from_mode(0o666)).unwrap();
    let error = CodeCache::open(&scene.code(), &scene.key()).unwrap_err();
    assert!(error.to_string().contains("others may write"), "{error}");
}

#[test]
fn links_are_not_followed() {
    let scene = Scene::new();
    let digest = scene.compile(QUIET);
    let (code, _) = scene.entry(digest);
    let moved = scene.folder.path().join("moved");
    fs::rename(&code, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &code).unwrap();
    assert!(!scene.has(digest));
}

#[test]
fn the_folder_and_the_key_are_private() {
    let scene = Scene::new();
    scene.compile(QUIET);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scene.code()), 0o700);
    assert_eq!(mode(&scene.key()), 0o600);
    assert_eq!(fs::read(scene.key()).unwrap().len(), 32);
}
