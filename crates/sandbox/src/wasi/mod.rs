//! What a guest can call: two thin adapters over one host.
//!
//! [`p1`] is WASI 0.1 for core modules, [`p2`] is WASI 0.2 for components. Neither holds
//! any logic of files, streams, time, randomness or metering; that stands here, once.
//! Nothing that could reach the host is linked. No call blocks, and each charges fuel for
//! the bytes and entries that it touches.

mod clock;
mod host;
mod meter;
mod nodes;
mod open_files;
mod p1;
mod p2;

pub(crate) use host::{Host, HostSetup, Stop};
pub(crate) use p1::link;
pub(crate) use p2::{enter_component, link_components};
