//! The two interfaces that guests are made for, and components for tests.
//!
//! A core module becomes a component the way toolchains do it: with the adapter that
//! implements WASI 0.1 on top of 0.2. So one guest can be run against both of ours.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "a test has nobody to report to, and each uses a part of this"
)]

use std::path::{Path, PathBuf};

use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{LiftLowerAbi, ManglingAndAbi, Resolve, WorldId};

/// Which of our adapters a guest goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adapter {
    /// WASI 0.1, as a core module.
    Core,
    /// WASI 0.2, as a component.
    Component,
}

impl Adapter {
    pub(crate) const BOTH: [Self; 2] = [Self::Core, Self::Component];

    /// A guest that goes through this adapter.
    pub(crate) fn guest(self, core: &[u8]) -> Vec<u8> {
        match self {
            Self::Core => core.to_vec(),
            Self::Component => componentize(core),
        }
    }
}

/// A guest of `guest-checks/built`.
pub(crate) fn built(name: &str) -> Vec<u8> {
    let path = root().join(format!("../../guest-checks/built/{name}.wasm"));
    std::fs::read(path).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// Makes a component of a command for WASI 0.1.
pub(crate) fn componentize(core: &[u8]) -> Vec<u8> {
    use wasi_preview1_component_adapter_provider as provider;
    ComponentEncoder::default()
        .module(core)
        .unwrap()
        .adapter(
            provider::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME,
            provider::WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER,
        )
        .unwrap()
        .encode()
        .unwrap()
}

/// The world of `wit/guest.wit`, with another version of WASI's interfaces.
fn world(version: &str) -> (Resolve, WorldId) {
    let mut resolve = Resolve::default();
    let folder = root().join("wit");
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .unwrap()
            .replace("0.2.12", version)
    };
    // Each file follows those that it uses.
    for name in ["io", "clocks", "filesystem", "random", "sockets", "cli"] {
        let path = folder.join(format!("deps/{name}.wit"));
        resolve.push_str(&path, &read(&path)).unwrap();
    }
    let path = folder.join("guest.wit");
    let package = resolve.push_str(&path, &read(&path)).unwrap();
    let world = resolve.select_world(&[package], Some("guest")).unwrap();
    (resolve, world)
}

/// A component that imports everything that there is, and traps when it is run.
pub(crate) fn imports_everything(version: &str) -> Vec<u8> {
    let (resolve, world) = world(version);
    let mut module = dummy_module(&resolve, world, ManglingAndAbi::Legacy(LiftLowerAbi::Sync));
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    encode(&module)
}

/// Makes a component of a core module in text form that imports functions of WASI 0.2
/// by the canonical ABI.
///
/// `$WASI` stands for the version, `$MEMORY` for a memory of 16 pages with the allocator
/// that lists and strings for the guest need, which takes what lies above 64 KiB.
pub(crate) fn component(text: &str) -> Vec<u8> {
    component_of("0.2.12", text)
}

pub(crate) fn component_of(version: &str, text: &str) -> Vec<u8> {
    let memory = r#"
        (memory (export "memory") 16)
        (global $free (mut i32) (i32.const 65536))
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
            (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
            (global.set $free (i32.add (local.get $at) (local.get 3)))
            (local.get $at))"#;
    let text = text.replace("$MEMORY", memory).replace("$WASI", version);
    let (resolve, world) = world(version);
    let mut module = wat::parse_str(text).unwrap();
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    encode(&module)
}

fn encode(module: &[u8]) -> Vec<u8> {
    ComponentEncoder::default()
        .module(module)
        .unwrap()
        .encode()
        .unwrap()
}
