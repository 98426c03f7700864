//! Has the crate compiled again when a Python file is added or taken away: the macro that
//! embeds them only knows the ones that it found.

#![allow(
    clippy::print_stdout,
    reason = "this is how a build script speaks to cargo"
)]

fn main() {
    println!("cargo::rerun-if-changed=python");
}
