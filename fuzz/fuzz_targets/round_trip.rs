//! Two trees from arbitrary bytes: the diff between them leads from one to the other.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| probity_fuzz::check_round_trip(data));
