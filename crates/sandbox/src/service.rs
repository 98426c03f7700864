//! Verdicts as a service, for programs that embed Probity: an asynchronous queue over a
//! [`Sandbox`].
//!
//! - **Bounded**: so many verdicts are made at a time, so many wait; who submits more waits
//!   in turn ([`Service::submit`]) or is told so ([`Service::try_submit`]).
//! - **Deadlines** cover everything from submission to verdict: waiting, compiling, running,
//!   reporting.
//! - **Cancellation**: by the job's handle, by dropping it, by shutting down.
//! - **Events** as checks start and end; **metrics** as `tracing` events of the target
//!   `probity::metrics`, named as `tracing-opentelemetry` expects them.
//!
//! `examples/embed.rs` is a small CI runner made of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use probity_core::Repo;
use probity_core::spec::Spec;
use probity_core::verify::{self, CheckReport, Verdict, VerifyInput};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tracing::{Instrument as _, debug, info, info_span};

use crate::cancel::Cancel;
use crate::executor::{SpecExecutor, SpecFiles, Stores, TrustedTests};
use crate::guest::Conditions;
use crate::sandbox::Sandbox;

/// Events that a job keeps for whoever reads them late; more than that are dropped.
const MAX_EVENTS: usize = 1024;

/// How much a service does at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Verdicts that are made at a time. Default: the number of processors.
    pub concurrency: usize,
    /// Jobs that wait beside those. Default 256.
    pub queue: usize,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            concurrency: std::thread::available_parallelism().map_or(1, usize::from),
            queue: 256,
        }
    }
}

/// A verdict to make.
pub struct Request {
    /// What the job is called in events and metrics.
    pub name: String,
    /// The checks.
    pub spec: Arc<Spec>,
    /// The tree before the change; `None` if there is no change to judge.
    pub base: Option<Repo>,
    /// The tree under test.
    pub repo: Repo,
    /// Reads the files that the spec names.
    pub files: Arc<SpecFiles>,
    /// The folders of trusted tests that the spec names.
    pub trusted: Arc<TrustedTests>,
    /// Seed and start time of guests; its `cancel` is another way to end the job.
    pub conditions: Conditions,
    /// Real time from submission to verdict.
    pub deadline: Duration,
}

/// What happens to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobEvent {
    /// It left the queue.
    Started,
    /// A check starts.
    CheckStarted {
        /// Its place, counted from 0, and how many there are.
        place: (usize, usize),
        /// Its name.
        name: String,
    },
    /// A suite went on: tests that were collected (0 until that is known), ended, failed.
    /// Told now and then, for display only.
    SuiteProgressed {
        /// The check's place, counted from 0, and how many there are.
        place: (usize, usize),
        /// Tests that were collected, that ended, and that keep the suite from passing.
        tests: (u64, u64, u64),
    },
    /// A check ended.
    CheckFinished {
        /// Its place, counted from 0, and how many there are.
        place: (usize, usize),
        /// What it reports.
        report: Box<CheckReport>,
    },
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// It was cancelled, or its handle was dropped.
    #[error("the job was cancelled")]
    Cancelled,
    /// Its deadline passed.
    #[error("the job's deadline passed")]
    Deadline,
    /// The service was shut down before it was done.
    #[error("the service was shut down")]
    ShutDown,
    /// The thread that made the verdict panicked: a defect of ours.
    #[error("the job panicked")]
    Panicked,
}

/// Why a job was not accepted. It is given back.
#[derive(thiserror::Error)]
pub enum SubmitError {
    /// The queue is full.
    #[error("the queue is full")]
    Full(Box<Request>),
    /// The service is shutting down.
    #[error("the service is shutting down")]
    Closed(Box<Request>),
}

impl std::fmt::Debug for SubmitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full",
            Self::Closed(_) => "Closed",
        })
    }
}

/// A queue of verdicts to make. Cloning is cheap; all clones are one service.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

struct Shared {
    sandbox: Sandbox,
    stores: Stores,
    settings: ServiceSettings,
    /// A permit for each job that waits or runs.
    places: Arc<Semaphore>,
    /// A permit for each job that runs.
    running: Arc<Semaphore>,
    jobs: Mutex<Jobs>,
}

/// The jobs that wait or run, to be ended by a shutdown.
#[derive(Default)]
struct Jobs {
    next: u64,
    open: HashMap<u64, Arc<Stop>>,
}

/// Why a job ends early: whoever comes first says.
struct Stop {
    cancel: Cancel,
    reason: Mutex<Option<JobError>>,
}

impl Stop {
    fn end(&self, reason: JobError) {
        let mut first = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(reason);
        self.cancel.cancel();
    }

    fn reason(&self) -> Option<JobError> {
        let reason = *self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        reason.or_else(|| self.cancel.is_cancelled().then_some(JobError::Cancelled))
    }
}

/// An entry in the list of open jobs. It goes with the task that makes the verdict, even if
/// that panics or its runtime is dropped.
struct Listed {
    shared: Arc<Shared>,
    stop: Arc<Stop>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        // Nothing happens to a job that is done.
        self.stop.end(JobError::ShutDown);
        self.shared.jobs().open.remove(&self.number);
    }
}

/// A job that was accepted. Dropping it cancels the job.
pub struct Job {
    stop: Arc<Stop>,
    events: mpsc::Receiver<JobEvent>,
    verdict: Option<oneshot::Receiver<Result<Verdict, JobError>>>,
}

impl Job {
    /// The next event; `None` once there will be no more.
    pub async fn next_event(&mut self) -> Option<JobEvent> {
        self.events.recv().await
    }

    /// Ends the job soon; its verdict is then [`JobError::Cancelled`].
    pub fn cancel(&self) {
        self.stop.end(JobError::Cancelled);
    }

    /// Waits for the verdict.
    ///
    /// # Errors
    /// When the job was ended before it had one.
    pub async fn verdict(mut self) -> Result<Verdict, JobError> {
        match self.verdict.take() {
            Some(verdict) => verdict.await.unwrap_or(Err(JobError::Panicked)),
            None => Err(JobError::Panicked),
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Nothing happens to a job that is done.
        self.stop.end(JobError::Cancelled);
    }
}

impl Service {
    /// A service that runs guests in `sandbox`. With worker processes, give the pool as
    /// many workers as `settings.concurrency`.
    #[must_use]
    pub fn new(sandbox: Sandbox, stores: Stores, settings: ServiceSettings) -> Self {
        let concurrency = settings.concurrency.clamp(1, Semaphore::MAX_PERMITS / 2);
        let queue = settings.queue.min(Semaphore::MAX_PERMITS / 2);
        let settings = ServiceSettings { concurrency, queue };
        Self {
            shared: Arc::new(Shared {
                sandbox,
                stores,
                settings,
                places: Arc::new(Semaphore::new(concurrency.saturating_add(queue))),
                running: Arc::new(Semaphore::new(concurrency)),
                jobs: Mutex::default(),
            }),
        }
    }

    /// Submits a job; while the queue is full, waits its turn. The time spent waiting here
    /// is not part of the job's deadline.
    ///
    /// # Errors
    /// When the service is shutting down.
    pub async fn submit(&self, request: Request) -> Result<Job, SubmitError> {
        match Arc::clone(&self.shared.places).acquire_owned().await {
            Ok(place) => Ok(self.accept(request, place)),
            Err(_) => Err(SubmitError::Closed(Box::new(request))),
        }
    }

    /// Submits a job if there is room in the queue.
    ///
    /// # Errors
    /// When there is none, or the service is shutting down.
    pub fn try_submit(&self, request: Request) -> Result<Job, SubmitError> {
        match Arc::clone(&self.shared.places).try_acquire_owned() {
            Ok(place) => Ok(self.accept(request, place)),
            Err(tokio::sync::TryAcquireError::NoPermits) => {
                Err(SubmitError::Full(Box::new(request)))
            }
            Err(tokio::sync::TryAcquireError::Closed) => {
                Err(SubmitError::Closed(Box::new(request)))
            }
        }
    }

    /// Jobs that wait or run.
    #[must_use]
    pub fn open_jobs(&self) -> usize {
        self.shared.jobs().open.len()
    }

    fn accept(&self, mut request: Request, place: OwnedSemaphorePermit) -> Job {
        let stop = Arc::new(Stop {
            // Conditions may be shared by many jobs; what ends this one ends no other.
            cancel: request.conditions.cancel.inner(),
            reason: Mutex::new(None),
        });
        request.conditions.cancel = stop.cancel.clone();
        let number = {
            let mut jobs = self.shared.jobs();
            let number = jobs.next;
            jobs.next = number.wrapping_add(1);
            jobs.open.insert(number, Arc::clone(&stop));
            number
        };
        let (events, inbox) = mpsc::channel(MAX_EVENTS);
        let (done, verdict) = oneshot::channel();
        let span = info_span!("job", name = %request.name);
        let shared = Arc::clone(&self.shared);
        let job = Job {
            stop: Arc::clone(&stop),
            events: inbox,
            verdict: Some(verdict),
        };
        let listed = Listed {
            shared: Arc::clone(&shared),
            stop: Arc::clone(&stop),
            number,
        };
        tokio::spawn(
            async move {
                let result = shared.make(request, &stop, events).await;
                drop(listed);
                drop(place);
                let _ = done.send(result);
            }
            .instrument(span),
        );
        job
    }

    /// Takes no more jobs, lets those that are open finish within `grace`, and then ends
    /// the rest. Returns when none is left.
    pub async fn shut_down(&self, grace: Duration) {
        self.shared.places.close();
        let emptied = tokio::time::timeout(grace, self.shared.emptied()).await;
        if emptied.is_err() {
            let open: Vec<Arc<Stop>> = self.shared.jobs().open.values().cloned().collect();
            info!(jobs = open.len(), "ending jobs");
            for stop in open {
                stop.end(JobError::ShutDown);
            }
            self.shared.emptied().await;
        }
    }
}

impl Shared {
    fn jobs(&self) -> std::sync::MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no job is open.
    async fn emptied(&self) {
        while !self.jobs().open.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Makes a verdict and measures how long that took.
    async fn make(
        self: &Arc<Self>,
        request: Request,
        stop: &Stop,
        events: mpsc::Sender<JobEvent>,
    ) -> Result<Verdict, JobError> {
        let submitted = Instant::now();
        let mut started = None;
        let result = self
            .wait_and_verify(request, stop, events, &mut started)
            .await;
        self.measure(&result, submitted, started);
        result
    }

    /// Waits for the job's turn, notes when it came in `started`, and makes the verdict.
    async fn wait_and_verify(
        self: &Arc<Self>,
        request: Request,
        stop: &Stop,
        events: mpsc::Sender<JobEvent>,
        started: &mut Option<Instant>,
    ) -> Result<Verdict, JobError> {
        let deadline = tokio::time::sleep(request.deadline);
        tokio::pin!(deadline);
        // Asked for once: who asks again goes to the end of the queue.
        let turn = Arc::clone(&self.running).acquire_owned();
        tokio::pin!(turn);
        let permit = loop {
            tokio::select! {
                permit = &mut turn => break permit.map_err(|_| JobError::ShutDown)?,
                () = &mut deadline => stop.end(JobError::Deadline),
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
            if let Some(reason) = stop.reason() {
                return Err(reason);
            }
        };
        *started = Some(Instant::now());
        let shared = Arc::clone(self);
        let mut work = tokio::task::spawn_blocking(move || {
            let verdict = shared.verify(request, &events);
            drop(permit);
            verdict
        });
        let verdict = tokio::select! {
            verdict = &mut work => verdict,
            () = &mut deadline => {
                stop.end(JobError::Deadline);
                // Guests end within some 20 ms of being told.
                work.await
            }
        };
        match (verdict, stop.reason()) {
            (Ok(verdict), None) => Ok(verdict),
            (Ok(_), Some(reason)) => Err(reason),
            (Err(_), _) => Err(JobError::Panicked),
        }
    }

    fn verify(&self, request: Request, events: &mpsc::Sender<JobEvent>) -> Verdict {
        // Whoever does not read the events loses some; the job does not wait for them.
        let tell = |event| {
            let _ = events.try_send(event);
        };
        tell(JobEvent::Started);
        let mut executor = SpecExecutor::new(
            self.sandbox.clone(),
            self.stores.clone(),
            request.files,
            request.conditions,
        )
        .with_trusted_tests(request.trusted);
        let input = VerifyInput {
            repo: &request.repo,
            base: request.base.as_ref(),
        };
        verify::verify(
            &request.spec,
            input,
            &mut executor,
            &mut |event| match event {
                verify::Event::CheckStarted {
                    index,
                    total,
                    check,
                } => tell(JobEvent::CheckStarted {
                    place: (index, total),
                    name: check.name.clone(),
                }),
                verify::Event::SuiteProgressed {
                    index,
                    total,
                    check: _,
                    progress,
                } => {
                    // It must not take the place of what happens once.
                    if events.capacity() > MAX_EVENTS / 2 {
                        tell(JobEvent::SuiteProgressed {
                            place: (index, total),
                            tests: (progress.collected, progress.done, progress.failed),
                        });
                    }
                }
                verify::Event::CheckFinished {
                    index,
                    total,
                    report,
                } => tell(JobEvent::CheckFinished {
                    place: (index, total),
                    report: Box::new(report.clone()),
                }),
            },
        )
    }

    /// Writes the metrics of a job that ended. One whose turn never came waited to its end.
    fn measure(
        &self,
        result: &Result<Verdict, JobError>,
        submitted: Instant,
        started: Option<Instant>,
    ) {
        let ended = Instant::now();
        let started = started.unwrap_or(ended);
        let outcome = match result {
            Ok(verdict) => format!("{:?}", verdict.status()),
            Err(error) => format!("{error:?}"),
        };
        info!(
            target: "probity::metrics",
            {
                monotonic_counter.jobs = 1_u64,
                histogram.wait_seconds = started.duration_since(submitted).as_secs_f64(),
                histogram.run_seconds = ended.duration_since(started).as_secs_f64(),
                outcome,
            },
            "a job ended"
        );
        let free = self.running.available_permits();
        debug!(
            target: "probity::metrics",
            {
                gauge.open_jobs = self.jobs().open.len(),
                gauge.running_jobs = self.settings.concurrency.saturating_sub(free),
            },
            "jobs"
        );
    }
}
