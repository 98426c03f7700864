//! Finds the format of arbitrary bytes; what was found is parsed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probity_core::patch::detect;

fuzz_target!(|data: &[u8]| {
    if let Ok(format) = detect(data) {
        probity_fuzz::check_parser(format, data);
    }
});
