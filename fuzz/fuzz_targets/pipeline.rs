//! A tree, a format and a patch from arbitrary bytes, through the whole pipeline.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probity_core::patch::{Format, parse};

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    let tree = probity_fuzz::take_tree(&mut rest);
    let Some((format, patch)) = rest.split_first() else {
        return;
    };
    let format = Format::ALL[usize::from(*format) % Format::ALL.len()];
    if let Ok(patch) = parse(format, patch) {
        probity_fuzz::check_patch(&tree, &patch);
    }
});
