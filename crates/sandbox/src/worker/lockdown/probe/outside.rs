//! What probes need outside of the process that tries them.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use rustix::fs::MemfdFlags;
use rustix::io::FdFlags;

/// Targets for the probes: sockets to reach, a descriptor to find. To be held by the
/// process that starts the ones that try, as long as they run.
///
/// While it lives, every child that is started inherits one descriptor, of `/dev/null`.
#[derive(Debug)]
pub struct Outside {
    _listener: UnixListener,
    _inheritable: OwnedFd,
    tcp: TcpListener,
    udp: UdpSocket,
}

impl Outside {
    /// Opens the targets.
    ///
    /// # Errors
    /// When the system refuses a socket of this machine's own or `/dev/null`.
    pub fn new() -> io::Result<Self> {
        let inheritable = OwnedFd::from(File::open("/dev/null")?);
        rustix::io::fcntl_setfd(&inheritable, FdFlags::empty())?;
        Ok(Self {
            _listener: UnixListener::bind_addr(&address(std::process::id())?)?,
            _inheritable: inheritable,
            tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
            udp: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
        })
    }

    /// Environment variables that a process which tries probes is to be started with.
    ///
    /// # Errors
    /// When the system does not tell the ports.
    pub fn environment(&self) -> io::Result<[(&'static str, String); 2]> {
        Ok([
            (TCP, self.tcp.local_addr()?.port().to_string()),
            (UDP, self.udp.local_addr()?.port().to_string()),
        ])
    }

    /// An empty memory-backed file, for descriptor 0 of a process that tries probes.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub fn file(&self) -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC;
        Ok(rustix::fs::memfd_create(c"probity-probe", flags)?)
    }
}

/// The variables with the ports to reach.
pub(super) const TCP: &str = "PROBITY_PROBE_TCP";
pub(super) const UDP: &str = "PROBITY_PROBE_UDP";

/// The abstract socket of the process with this number.
pub(super) fn address(process: u32) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("probity-probe-{process}"))
}
