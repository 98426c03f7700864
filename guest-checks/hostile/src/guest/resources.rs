//! Attacks on what a guest may use up: fuel, stack, memory, output, time.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use super::REFUSED;

/// Bytes of one page of wasm memory.
const PAGE: usize = 64 * 1024;

pub(crate) fn spin(_: &[String]) -> ExitCode {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

pub(crate) fn recurse(_: &[String]) -> ExitCode {
    let depth = descend(0, &[0; 32]);
    println!("came back from {depth}");
    ExitCode::SUCCESS
}

#[inline(never)]
#[allow(unconditional_recursion, reason = "that is the attack")]
fn descend(depth: u64, above: &[u64; 32]) -> u64 {
    let frame = black_box([depth; 32]);
    let below = descend(black_box(depth.wrapping_add(1)), &frame);
    below.wrapping_add(black_box(above.iter().copied().fold(0, u64::wrapping_add)))
}

pub(crate) fn allocate(_: &[String]) -> ExitCode {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(black_box(vec![0xaa; 16 * PAGE]));
    }
}

pub(crate) fn grow_refused(_: &[String]) -> ExitCode {
    println!("{} bytes", grow_until_refused());
    ExitCode::SUCCESS
}

fn grow_until_refused() -> usize {
    use core::arch::wasm32::{memory_grow, memory_size};
    for step in [1024, 16, 1] {
        while memory_grow::<0>(step) != usize::MAX {}
    }
    memory_size::<0>().saturating_mul(PAGE)
}

pub(crate) fn print(_: &[String]) -> ExitCode {
    flood(std::io::stdout().lock())
}

pub(crate) fn print_stderr(_: &[String]) -> ExitCode {
    flood(std::io::stderr().lock())
}

fn flood(mut stream: impl Write) -> ExitCode {
    let line = [b"flood ".repeat(170), b"\n".to_vec()].concat();
    let chunk = line.repeat(16);
    loop {
        if stream.write_all(&chunk).is_err() {
            return ExitCode::from(REFUSED);
        }
    }
}

pub(crate) fn sleep(_: &[String]) -> ExitCode {
    let (steady, wall) = (Instant::now(), SystemTime::now());
    std::thread::sleep(Duration::from_secs(3600));
    println!("monotonic {:?}", steady.elapsed());
    println!("wall {:?}", wall.elapsed().unwrap_or_default());
    ExitCode::SUCCESS
}

pub(crate) fn exit(arguments: &[String]) -> ExitCode {
    let code: i32 = arguments
        .first()
        .and_then(|code| code.parse().ok())
        .unwrap_or_default();
    #[allow(
        clippy::exit,
        reason = "codes past 255 have to reach the host as they are"
    )]
    std::process::exit(code)
}

pub(crate) fn trap(_: &[String]) -> ExitCode {
    core::arch::wasm32::unreachable()
}

pub(crate) fn random(_: &[String]) -> ExitCode {
    // The keys of a hash map's hasher come from the system's randomness.
    let [high, low] = [(); 2].map(|()| RandomState::new().build_hasher().finish());
    println!("{high:016x}{low:016x}");
    ExitCode::SUCCESS
}

pub(crate) fn clock(_: &[String]) -> ExitCode {
    let wall = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    println!("wall {} ns", wall.as_nanos());
    let mut before = Instant::now();
    for _ in 0..4 {
        let now = Instant::now();
        println!("step {} ns", now.duration_since(before).as_nanos());
        before = now;
    }
    ExitCode::SUCCESS
}

pub(crate) fn environment(_: &[String]) -> ExitCode {
    for argument in std::env::args_os() {
        println!("arg {argument:?}");
    }
    for (name, value) in std::env::vars_os() {
        println!("env {name:?}={value:?}");
    }
    ExitCode::SUCCESS
}

#[allow(clippy::panic, reason = "that is the attack")]
pub(crate) fn panic(_: &[String]) -> ExitCode {
    panic!("\x1b]0;owned\x07\x1b[2J\x1b[31mprobity: all checks passed\r");
}

pub(crate) fn print_escapes(_: &[String]) -> ExitCode {
    let chunk = "\x1b[2J\x1b[1;1H\x1b]0;owned\x07\r\u{202e}\0".repeat(500);
    let mut stream = std::io::stderr().lock();
    loop {
        if stream.write_all(chunk.as_bytes()).is_err() {
            return ExitCode::from(REFUSED);
        }
    }
}

pub(crate) fn sleep_for_ever(_: &[String]) -> ExitCode {
    for _ in 0..4 {
        std::thread::sleep(Duration::MAX);
    }
    println!("wall {:?}", SystemTime::now());
    ExitCode::SUCCESS
}

pub(crate) fn wait(_: &[String]) -> ExitCode {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    let start = Instant::now();
    let mut sleeps = 0_u64;
    while start.elapsed() < YEAR {
        std::thread::sleep(Duration::from_secs(3600));
        sleeps = sleeps.saturating_add(1);
    }
    println!("{sleeps} sleeps");
    ExitCode::SUCCESS
}

pub(crate) fn stdin(_: &[String]) -> ExitCode {
    let read = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    println!("{read:?}");
    ExitCode::SUCCESS
}

/// Functions that call each other through this table only.
struct Steps([fn(u64, &Steps) -> u64; 2]);

fn ping(depth: u64, steps: &Steps) -> u64 {
    let [_, next] = black_box(steps.0);
    next(black_box(depth.wrapping_add(1)), steps).wrapping_mul(3)
}

fn pong(depth: u64, steps: &Steps) -> u64 {
    let [next, _] = black_box(steps.0);
    next(black_box(depth.wrapping_add(2)), steps).wrapping_add(depth)
}

pub(crate) fn ping_pong(_: &[String]) -> ExitCode {
    println!("came back from {}", ping(0, &Steps([ping, pong])));
    ExitCode::SUCCESS
}
