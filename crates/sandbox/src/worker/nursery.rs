//! Where workers are started.
//!
//! A worker asks the kernel to be ended with its parent, and by parent the kernel means the
//! thread that started it. So workers are started by a thread that lives as long as they
//! may, whoever it was that needed one.

use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread;

use super::child::{Worker, WorkerCommand};
use super::lockdown;

type Request = (
    lockdown::Settings,
    Box<dyn FnOnce(Result<Worker, String>) + Send>,
);

/// A thread that starts workers. It ends when the nursery is dropped, and the kernel then
/// ends every worker that is left.
#[derive(Debug)]
pub(super) struct Nursery {
    requests: Sender<Request>,
}

impl Nursery {
    pub(super) fn new(command: WorkerCommand) -> std::io::Result<Self> {
        let (requests, inbox) = channel::<Request>();
        thread::Builder::new()
            .name("probity-nursery".to_owned())
            .spawn(move || {
                for (settings, done) in inbox {
                    done(Worker::start(&command, &settings));
                }
            })?;
        Ok(Self { requests })
    }

    /// Starts a worker and waits for it.
    pub(super) fn start(&self, settings: lockdown::Settings) -> Result<Worker, String> {
        let (send, receive) = sync_channel(1);
        self.start_then(settings, move |worker| {
            let _ = send.send(worker);
        });
        receive
            .recv()
            .unwrap_or_else(|_| Err("no thread is left to start it".to_owned()))
    }

    /// Starts a worker and calls `done` with it, on the nursery's thread.
    pub(super) fn start_then(
        &self,
        settings: lockdown::Settings,
        done: impl FnOnce(Result<Worker, String>) + Send + 'static,
    ) {
        let _ = self.requests.send((settings, Box::new(done)));
    }
}
