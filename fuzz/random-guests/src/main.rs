//! Writes random guests to standard output for ever: `random-guests modules|components SEED`,
//! with an example module on standard input whose imports and exports modules may use.
//!
//! Each is its length in bytes, 32 bits little-endian, and the bytes. It ends when nobody
//! reads any more.

use std::io::{Read as _, Write as _};

use arbitrary::Unstructured;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use wasm_smith::{Component, Config, Module};

/// Bytes of randomness for one guest.
const ENTROPY: usize = 16 << 10;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [kind, seed] = &args[..] else {
        return Err("usage: random-guests modules|components SEED".into());
    };
    let mut example = Vec::new();
    std::io::stdin().read_to_end(&mut example)?;
    let mut out = std::io::stdout().lock();
    let first: u64 = seed.parse()?;
    for number in first.. {
        let mut entropy = vec![0; ENTROPY];
        ChaCha8Rng::seed_from_u64(number).fill_bytes(&mut entropy);
        let mut entropy = Unstructured::new(&entropy);
        let guest = match kind.as_str() {
            "modules" => Module::new(config(&example), &mut entropy).map(|it| it.to_bytes()),
            _ => Component::new(Config::default(), &mut entropy).map(|it| it.to_bytes()),
        };
        let Ok(guest) = guest else {
            continue;
        };
        let length = u32::try_from(guest.len())?;
        let written = out
            .write_all(&length.to_le_bytes())
            .and_then(|()| out.write_all(&guest));
        if written.is_err() {
            break;
        }
    }
    Ok(())
}

/// What modules may have: about what the sandbox offers, so that many of them run.
fn config(example: &[u8]) -> Config {
    Config {
        available_imports: Some(example.to_vec()),
        exports: Some(example.to_vec()),
        max_memories: 1,
        memory64_enabled: false,
        threads_enabled: false,
        tail_call_enabled: false,
        gc_enabled: false,
        relaxed_simd_enabled: false,
        custom_page_sizes_enabled: false,
        wide_arithmetic_enabled: false,
        ..Config::default()
    }
}
