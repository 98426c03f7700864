//! Frames over a Unix socket: bounded messages, with open files beside them.
//!
//! A frame is the length of its payload and the number of its files, both 32 bits
//! little-endian, then the payload. The files travel with the frame's first byte.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, send, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cancel::Cancel;

/// Most files beside one frame.
pub(super) const MAX_FILES: usize = 64;
/// Bytes of a frame's header.
const HEADER: usize = 8;
/// How long to wait before looking again whether somebody cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// Why no frame came or went.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    /// The other side is gone.
    #[error("closed its end")]
    Closed,
    /// Time is over.
    #[error("did not answer in time")]
    Late,
    /// The embedder does not want to wait any longer.
    #[error("was not waited for")]
    Cancelled,
    /// The other side does not speak the protocol.
    #[error("does not keep to the protocol: {0}")]
    Protocol(String),
    /// The socket failed.
    #[error("cannot be reached: {0}")]
    Io(#[from] io::Error),
}

impl From<rustix::io::Errno> for FrameError {
    fn from(errno: rustix::io::Errno) -> Self {
        match errno {
            rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET => Self::Closed,
            other => Self::Io(other.into()),
        }
    }
}

/// How long to wait for the other side.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    /// `None` waits for ever.
    pub(super) deadline: Option<Instant>,
    pub(super) cancel: Option<&'a Cancel>,
}

impl Patience<'_> {
    pub(super) const ENDLESS: Self = Self {
        deadline: None,
        cancel: None,
    };

    /// Fails once it is at an end: whoever never has to wait would not notice.
    pub(super) fn check(self) -> Result<(), FrameError> {
        if self.cancel.is_some_and(Cancel::is_cancelled) {
            return Err(FrameError::Cancelled);
        }
        match self.deadline {
            Some(deadline) if deadline <= Instant::now() => Err(FrameError::Late),
            Some(_) | None => Ok(()),
        }
    }
}

/// One end of the socket.
#[derive(Debug)]
pub(super) struct Channel {
    socket: OwnedFd,
}

impl Channel {
    pub(super) const fn new(socket: OwnedFd) -> Self {
        Self { socket }
    }

    /// Waits until the socket can be read or written.
    fn wait(&self, flags: PollFlags, patience: Patience<'_>) -> Result<(), FrameError> {
        loop {
            if patience.cancel.is_some_and(Cancel::is_cancelled) {
                return Err(FrameError::Cancelled);
            }
            let left = match patience.deadline {
                None => None,
                Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
                    Some(left) if !left.is_zero() => Some(left),
                    Some(_) | None => return Err(FrameError::Late),
                },
            };
            let span = match (left, patience.cancel) {
                (Some(left), Some(_)) => Some(left.min(LOOK)),
                (None, Some(_)) => Some(LOOK),
                (left, None) => left,
            };
            let timeout = span.and_then(|span| Timespec::try_from(span).ok());
            let mut wanted = [PollFd::new(&self.socket, flags)];
            match poll(&mut wanted, timeout.as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Sends a message and files.
    pub(super) fn send(
        &self,
        message: &impl Serialize,
        files: &[BorrowedFd<'_>],
        patience: Patience<'_>,
    ) -> Result<(), FrameError> {
        if files.len() > MAX_FILES {
            return Err(FrameError::Protocol("too many files".to_owned()));
        }
        let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
        // The payload may be large: it is written behind its header, not copied there.
        let mut frame = postcard::to_extend(message, vec![0; HEADER]).map_err(io::Error::other)?;
        let length = u32::try_from(frame.len().saturating_sub(HEADER))
            .map_err(|_| FrameError::Protocol("a message of 4 GiB".to_owned()))?;
        let header = [length.to_le_bytes(), count.to_le_bytes()];
        if let Some((to, _)) = frame.split_first_chunk_mut::<HEADER>() {
            to.copy_from_slice(header.as_flattened());
        }

        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let mut left = frame.as_slice();
        let mut with_files = !files.is_empty();
        while !left.is_empty() {
            let sent = if with_files {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
                let mut ancillary = SendAncillaryBuffer::new(&mut space);
                if !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
                    return Err(FrameError::Protocol("too many files".to_owned()));
                }
                sendmsg(&self.socket, &[IoSlice::new(left)], &mut ancillary, flags)
            } else {
                send(&self.socket, left, flags)
            };
            match sent {
                Ok(count) => {
                    with_files = false;
                    left = left.get(count..).unwrap_or(&[]);
                }
                Err(rustix::io::Errno::AGAIN) => self.wait(PollFlags::OUT, patience)?,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    /// Receives a message of at most `cap` bytes, and the files beside it.
    pub(super) fn receive<M: DeserializeOwned>(
        &self,
        cap: u64,
        patience: Patience<'_>,
    ) -> Result<(M, Vec<OwnedFd>), FrameError> {
        let mut files = Vec::new();
        let mut header = [0; HEADER];
        let mut at = 0_usize;
        while let Some(rest) = header.get_mut(at..).filter(|rest| !rest.is_empty()) {
            at = at.saturating_add(self.part(rest, Some(&mut files), patience)?);
        }
        let [a, b, c, d, e, f, g, h] = header;
        let length = u32::from_le_bytes([a, b, c, d]);
        let count = u32::from_le_bytes([e, f, g, h]);
        if u64::from(length) > cap {
            return Err(FrameError::Protocol(format!(
                "a message of {length} bytes, where {cap} are the most"
            )));
        }
        if usize::try_from(count).ok() != Some(files.len()) {
            return Err(FrameError::Protocol(format!(
                "{count} files announced, {} received",
                files.len()
            )));
        }
        // Grown as the bytes come, not as they are announced.
        let mut payload = Vec::new();
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        while payload.len() < length {
            let start = payload.len();
            payload.resize(length.min(start.saturating_add(1 << 20)), 0);
            let into = payload.get_mut(start..).unwrap_or(&mut []);
            let count = self.part(into, None, patience)?;
            payload.truncate(start.saturating_add(count));
        }
        let message = postcard::from_bytes(&payload)
            .map_err(|error| FrameError::Protocol(error.to_string()))?;
        Ok((message, files))
    }

    /// Receives some bytes, at least one.
    fn part(
        &self,
        into: &mut [u8],
        files: Option<&mut Vec<OwnedFd>>,
        patience: Patience<'_>,
    ) -> Result<usize, FrameError> {
        let mut files = files;
        loop {
            let received = match &mut files {
                None => recv(&self.socket, &mut *into, RecvFlags::DONTWAIT).map(|(_, count)| count),
                Some(files) => {
                    let mut space =
                        [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
                    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
                    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
                    let result = recvmsg(
                        &self.socket,
                        &mut [IoSliceMut::new(into)],
                        &mut ancillary,
                        flags,
                    );
                    for message in ancillary.drain() {
                        if let RecvAncillaryMessage::ScmRights(received) = message {
                            files.extend(received);
                        }
                    }
                    result.map(|message| message.bytes)
                }
            };
            match received {
                Ok(0) => return Err(FrameError::Closed),
                Ok(count) => return Ok(count),
                Err(rustix::io::Errno::AGAIN) => self.wait(PollFlags::IN, patience)?,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
