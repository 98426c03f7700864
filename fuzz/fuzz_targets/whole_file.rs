//! Parses arbitrary bytes as `whole_file` and checks what they do to a small tree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probity_core::patch::Format;

fuzz_target!(|data: &[u8]| probity_fuzz::check_parser(Format::WholeFile, data));
