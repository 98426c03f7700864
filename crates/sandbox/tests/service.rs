//! The service: bounds, deadlines, cancellation, shutdown.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test has nobody to report to"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use probity_core::repo::File;
use probity_core::spec::Spec;
use probity_core::verify::Status;
use probity_core::{Repo, RepoPath};
use probity_sandbox::executor::Stores;
use probity_sandbox::service::{
    JobError, JobEvent, Request, Service, ServiceSettings, SubmitError,
};
use probity_sandbox::worker::{PoolSettings, Process, WorkerCommand};
use probity_sandbox::{Conditions, Sandbox, Seals};

const QUIET: &str = r#"(module (memory (export "memory") 1) (func (export "_start")))"#;
const SPINS: &str =
    r#"(module (memory (export "memory") 1) (func (export "_start") (loop $l (br $l))))"#;

fn service(concurrency: usize, queue: usize) -> Service {
    let command = WorkerCommand::program(env!("CARGO_BIN_EXE_probity-worker"));
    let pool = PoolSettings {
        workers: concurrency,
        ..PoolSettings::default()
    };
    let sandbox = Sandbox::new(Process::new(command, pool).unwrap(), None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let seals = Seals::open(&folder.path().join("key")).unwrap();
    let stores = Stores::in_folder(&folder.path().join("cache"), &seals);
    Service::new(sandbox, stores, ServiceSettings { concurrency, queue })
}

/// A job with one check by a module of this text.
fn request(name: &str, module: &'static str) -> Request {
    let spec = r#"
        version = 1
        description = "one check"
        [[check]]
        name = "guest"
        kind = "pack"
        pack = "./guest.wasm"
        check = "any"
        budget = { fuel = "100 T" }
    "#;
    let spec = Spec::parse("probity.toml", spec, &|_| Err("no files here".to_owned())).unwrap();
    let mut repo = Repo::new();
    let path: RepoPath = "a.txt".parse().unwrap();
    repo.insert(&path, File::regular(*b"a\n")).unwrap();
    Request {
        name: name.to_owned(),
        spec: Arc::new(spec),
        base: None,
        repo,
        files: Arc::new(move |_: &str| Ok(wat::parse_str(module).unwrap())),
        trusted: Arc::default(),
        conditions: Conditions::default(),
        deadline: Duration::from_secs(60),
    }
}

#[tokio::test]
async fn a_job_tells_what_happens_and_ends_with_its_verdict() {
    let service = service(1, 1);
    let mut job = service.submit(request("quiet", QUIET)).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = job.next_event().await {
        events.push(event);
    }
    let [
        JobEvent::Started,
        JobEvent::CheckStarted { place, name },
        JobEvent::CheckFinished { report, .. },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((*place, name.as_str()), ((0, 1), "guest"));
    assert_eq!(report.name, "guest");
    assert_eq!(job.verdict().await.unwrap().status(), Status::Passed);
    assert_eq!(service.open_jobs(), 0);
}

#[tokio::test]
async fn the_queue_is_bounded_and_pushes_back() {
    let service = service(1, 1);
    let running = service.submit(request("running", SPINS)).await.unwrap();
    let waiting = service.submit(request("waiting", QUIET)).await.unwrap();
    let Err(SubmitError::Full(given_back)) = service.try_submit(request("third", QUIET)) else {
        panic!("there was room");
    };
    assert_eq!(given_back.name, "third");
    let late = tokio::time::timeout(Duration::from_millis(200), service.submit(*given_back));
    assert!(late.await.is_err(), "it did not wait");
    running.cancel();
    assert_eq!(running.verdict().await, Err(JobError::Cancelled));
    assert_eq!(waiting.verdict().await.unwrap().status(), Status::Passed);
    let third = service.submit(request("third", QUIET)).await.unwrap();
    assert_eq!(third.verdict().await.unwrap().status(), Status::Passed);
}

#[tokio::test]
async fn a_deadline_covers_waiting_and_running() {
    let service = service(1, 2);
    let short = |name: &str, module| Request {
        deadline: Duration::from_millis(300),
        ..request(name, module)
    };
    let started = Instant::now();
    let running = service.submit(short("running", SPINS)).await.unwrap();
    let waiting = service.submit(short("waiting", QUIET)).await.unwrap();
    assert_eq!(running.verdict().await, Err(JobError::Deadline));
    // It waited as long as the first one ran.
    assert_eq!(waiting.verdict().await, Err(JobError::Deadline));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn dropping_a_job_ends_it() {
    let service = service(1, 1);
    drop(service.submit(request("dropped", SPINS)).await.unwrap());
    let next = service.submit(request("next", QUIET)).await.unwrap();
    assert_eq!(next.verdict().await.unwrap().status(), Status::Passed);
}

#[tokio::test]
async fn a_shutdown_lets_jobs_finish_and_ends_the_rest() {
    let service = service(2, 2);
    let quick = service.submit(request("quick", QUIET)).await.unwrap();
    let endless = service.submit(request("endless", SPINS)).await.unwrap();
    let started = Instant::now();
    service.shut_down(Duration::from_millis(1500)).await;
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(quick.verdict().await.unwrap().status(), Status::Passed);
    assert_eq!(endless.verdict().await, Err(JobError::ShutDown));
    assert!(matches!(
        service.submit(request("late", QUIET)).await,
        Err(SubmitError::Closed(_))
    ));
    assert_eq!(service.open_jobs(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_jobs_share_few_workers_and_none_is_lost() {
    let service = service(2, 8);
    let mut jobs = tokio::task::JoinSet::new();
    for index in 0..60 {
        let job = service
            .submit(request(&format!("job {index}"), QUIET))
            .await
            .unwrap();
        jobs.spawn(job.verdict());
    }
    let mut passed = 0;
    while let Some(verdict) = jobs.join_next().await {
        assert_eq!(verdict.unwrap().unwrap().status(), Status::Passed);
        passed += 1;
    }
    assert_eq!(passed, 60);
}
