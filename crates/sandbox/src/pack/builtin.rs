//! The packs that come with Probity.
//!
//! They are built from `guest-checks/` and committed with their digests, so that a build
//! of the binary needs no WebAssembly toolchain; CI rebuilds them and compares the bytes.

/// A pack that comes with Probity.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// The name that specs use.
    pub name: &'static str,
    /// What its checks are about.
    pub about: &'static str,
    /// The module.
    pub module: &'static [u8],
}

macro_rules! pack {
    ($name:literal, $about:literal) => {
        BuiltIn {
            name: $name,
            about: $about,
            module: include_bytes!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../guest-checks/built/",
                $name,
                ".wasm"
            )),
        }
    };
}

/// Every pack that comes with Probity, by name.
pub const BUILT_IN: &[BuiltIn] = &[
    pack!(
        "hygiene",
        "licence headers, TODO markers, file sizes, merge-conflict markers"
    ),
    pack!(
        "source",
        "definitions and syntax of Python, Rust, JavaScript and TypeScript, parsed and never run"
    ),
    pack!(
        "text",
        "existence and content of files, line endings, final newlines"
    ),
];

/// The pack called `name`.
#[must_use]
pub fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|pack| pack.name == name)
}
