//! WASI 0.2 (the imports of the world `wasi:cli/command`) over the shared host.
//!
//! Each function is written against the host and linked by name in `link.rs`; `types.rs`
//! holds the interfaces' own types. The functions are linked by hand rather than generated
//! from the interface files, because every call charges fuel, for which it needs the store
//! and not only its data. A test instantiates a component that imports all of
//! `crates/sandbox/wit`, so that no name or signature differs from the interfaces.
//!
//! Nothing waits: streams and files are always ready, and sleeping passes on the virtual
//! clock. Lists and strings from the guest are bounded by the engine before they arrive
//! here, and every handle counts against a cap. Deliberately absent: sockets that work
//! (see `sockets.rs`), `wasi:http`, the time zone.

mod cli;
mod clocks;
mod filesystem;
mod handles;
mod io;
mod link;
mod random;
mod reply;
mod run;
mod sockets;
mod types;

pub(super) use handles::Handles;
pub(crate) use link::link_components;
pub(crate) use run::enter_component;
