//! The attempts themselves, mostly as plain system calls.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use libc::c_long;
use rustix::process::{Resource, Rlimit, getppid, getrlimit, setrlimit};

use super::outside::{TCP, UDP, address};
use super::{Attempt, Probe};
use crate::worker::lockdown::settings::Settings;

/// Children of the fork bomb.
const BOMB: usize = 64;
/// How much longer than the bound is computed.
const GRACE: Duration = Duration::from_secs(2);
/// At least a page on every kernel.
const PAGE: usize = 1 << 16;

pub(super) fn attempt(probe: Probe, settings: &Settings) -> Attempt {
    match run(probe, settings) {
        Ok(()) => Attempt::Succeeded,
        Err(Stop::Refused(errno)) => Attempt::Refused { errno },
        Err(Stop::Inapplicable(why)) => Attempt::Inapplicable { why },
    }
}

/// Why an attempt went no further.
enum Stop {
    Refused(i32),
    Inapplicable(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            // What is tried needs something that this machine does not have. A call that
            // the kernel does not have, or says it does not, is as good as refused.
            Some(libc::ENOENT | libc::ENETUNREACH | libc::ENXIO) | None => {
                Self::Inapplicable(error.to_string())
            }
            Some(errno) => Self::Refused(errno),
        }
    }
}

impl From<rustix::io::Errno> for Stop {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

fn run(probe: Probe, settings: &Settings) -> Result<(), Stop> {
    match probe {
        Probe::ReadFile => File::open("/etc/passwd").map(drop)?,
        Probe::StatFile => stat("/etc/passwd")?,
        Probe::CreateFile => {
            let path = format!("/tmp/probity-probe-{}", std::process::id());
            File::create_new(&path)?;
            fs::remove_file(&path)?;
        }
        Probe::ListRoot => fs::read_dir("/").map(drop)?,
        Probe::OpenTerminal => File::open("/dev/tty").map(drop)?,
        Probe::ConnectTcp => {
            TcpStream::connect((Ipv4Addr::LOCALHOST, port(TCP)?)).map(drop)?;
        }
        Probe::BindTcp => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)?,
        Probe::SendUdp => {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.send_to(b"probe", (Ipv4Addr::LOCALHOST, port(UDP)?))?;
        }
        Probe::ConnectAbstract => UnixStream::connect_addr(&address(parent()?)?).map(drop)?,
        Probe::UnixSocket => close(call(
            libc::SYS_socket,
            [at(libc::AF_UNIX), at(libc::SOCK_STREAM), 0, 0, 0, 0],
        )?),
        Probe::Fork => fork_many(1)?,
        Probe::ForkBomb => fork_many(BOMB)?,
        Probe::Execute => execute()?,
        Probe::TraceParent => {
            // Unlike attaching, this does not stop the parent; it ends with this process.
            const SEIZE: usize = 0x4206;
            call(libc::SYS_ptrace, [SEIZE, parent()? as usize, 0, 0, 0, 0])?;
        }
        Probe::SignalParent => {
            call(libc::SYS_kill, [parent()? as usize, 0, 0, 0, 0, 0])?;
        }
        Probe::ReadParentMemory => File::open(format!("/proc/{}/mem", parent()?)).map(drop)?,
        Probe::CopyParentMemory => copy_memory(parent()?)?,
        Probe::InheritedDescriptor => inherited()?,
        Probe::IoUring => {
            let mut parameters = [0_u64; 15];
            close(call(
                libc::SYS_io_uring_setup,
                [1, room_at(&mut parameters), 0, 0, 0, 0],
            )?);
        }
        Probe::Bpf => {
            // An array of one element: keys of 4 bytes, values of 4 bytes.
            let attributes: [u32; 32] = first(&[2, 4, 4, 1]);
            close(call(
                libc::SYS_bpf,
                [
                    0,
                    address_of(&attributes),
                    size_of_val(&attributes),
                    0,
                    0,
                    0,
                ],
            )?);
        }
        Probe::PerfEvents => {
            // The processor time of this process, its own code only.
            const OWN_CODE: u32 = 0x60;
            let attributes: [u32; 16] = first(&[1, 64, 0, 0, 0, 0, 0, 0, 0, 0, OWN_CODE]);
            let any = at(-1);
            close(call(
                libc::SYS_perf_event_open,
                [address_of(&attributes), 0, any, any, 0, 0],
            )?);
        }
        Probe::Userfaultfd => {
            const USER_FAULTS_ONLY: usize = 1;
            close(call(
                libc::SYS_userfaultfd,
                [USER_FAULTS_ONLY, 0, 0, 0, 0, 0],
            )?);
        }
        Probe::Keyrings => {
            const OWN_KEYRING: i32 = -2;
            call(libc::SYS_keyctl, [0, at(OWN_KEYRING), 1, 0, 0, 0])?;
        }
        Probe::Memfd => close(call(
            libc::SYS_memfd_create,
            [c"probe".as_ptr().expose_provenance(), 0, 0, 0, 0, 0],
        )?),
        Probe::WriteExecutable => {
            unmap(map(PAGE, READ_WRITE | libc::PROT_EXEC)?, PAGE);
        }
        Probe::NewCode => {
            let start = map(PAGE, READ_WRITE)?;
            let code = at(libc::PROT_READ | libc::PROT_EXEC);
            let result = call(libc::SYS_mprotect, [start, PAGE, code, 0, 0, 0]);
            unmap(start, PAGE);
            result?;
        }
        Probe::ExceedData => {
            let size = usize::try_from(settings.data_bytes)
                .unwrap_or(usize::MAX)
                .saturating_add(PAGE);
            unmap(map(size, READ_WRITE)?, size);
        }
        Probe::ExceedFiles => exceed_files(settings.open_files)?,
        Probe::ExceedFileSize => {
            let offset = usize::try_from(settings.file_bytes).unwrap_or(usize::MAX);
            let byte = [1_u8];
            call(libc::SYS_pwrite64, [0, address_of(&byte), 1, offset, 0, 0])?;
        }
        Probe::ExceedCpu => {
            let Some(seconds) = settings.cpu_seconds else {
                return Err(Stop::Inapplicable("there is no bound".to_owned()));
            };
            let end = Duration::from_secs(seconds).saturating_add(GRACE);
            while processor_time()? < end {
                std::hint::spin_loop();
            }
        }
        Probe::LockMemory => {
            let start = map(PAGE, READ_WRITE)?;
            let result = call(libc::SYS_mlock, [start, PAGE, 0, 0, 0, 0]);
            unmap(start, PAGE);
            result?;
        }
        Probe::MessageQueue => message_queue()?,
        Probe::RaiseLimit => {
            let now = getrlimit(Resource::Memlock);
            let Some(hard) = now.maximum else {
                return Err(Stop::Inapplicable("the limit is infinite".to_owned()));
            };
            let raised = Rlimit {
                maximum: Some(hard.saturating_add(1)),
                ..now
            };
            setrlimit(Resource::Memlock, raised)?;
        }
        Probe::RaisePriority => {
            call(libc::SYS_setpriority, [0, 0, at(-5), 0, 0, 0])?;
        }
        Probe::DumpCore => dump_core()?,
        Probe::SetUser => {
            const NOBODY: usize = 65_534;
            let other = if rustix::process::getuid().is_root() {
                NOBODY
            } else {
                0
            };
            call(libc::SYS_setresuid, [other, other, other, 0, 0, 0])?;
        }
        Probe::UserNamespace => {
            call(libc::SYS_unshare, [at(libc::CLONE_NEWUSER), 0, 0, 0, 0, 0])?;
        }
        Probe::ChangeRoot => {
            call(
                libc::SYS_chroot,
                [c"/".as_ptr().expose_provenance(), 0, 0, 0, 0, 0],
            )?;
        }
        Probe::Mount => mount()?,
    }
    Ok(())
}

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

fn parent() -> Result<u32, Stop> {
    getppid()
        .map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
        .ok_or_else(|| Stop::Inapplicable("the parent is in another namespace".to_owned()))
}

fn port(variable: &str) -> Result<u16, Stop> {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Stop::Inapplicable(format!("{variable} is not set")))
}

/// An array that begins with `values` and goes on with zeroes.
fn first<const N: usize>(values: &[u32]) -> [u32; N] {
    let mut all = [0; N];
    for (place, value) in all.iter_mut().zip(values) {
        *place = *value;
    }
    all
}

fn stat(path: &str) -> Result<(), Stop> {
    let path = format!("{path}\0");
    let mut buffer = [0_u64; 32];
    let result = call(
        libc::SYS_newfstatat,
        [
            at(libc::AT_FDCWD),
            path.as_ptr().expose_provenance(),
            room_at(&mut buffer),
            0,
            0,
            0,
        ],
    );
    result?;
    Ok(())
}

fn fork_many(count: usize) -> Result<(), Stop> {
    let signal = at(libc::SIGCHLD);
    let mut children = Vec::with_capacity(count);
    let mut result = Ok(());
    for _ in 0..count {
        match call(libc::SYS_clone, [signal, 0, 0, 0, 0, 0]) {
            // The child waits to be ended, a second at most.
            Ok(0) => {
                let second = [1_u64, 0];
                let _ = call(libc::SYS_nanosleep, [address_of(&second), 0, 0, 0, 0, 0]);
                loop {
                    let _ = call(libc::SYS_exit_group, [0; 6]);
                }
            }
            Ok(child) => children.push(child),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    for child in children {
        let _ = call(libc::SYS_kill, [child, at(libc::SIGKILL), 0, 0, 0, 0]);
        let _ = call(libc::SYS_wait4, [child, 0, 0, 0, 0, 0]);
    }
    Ok(result?)
}

/// Returns only if it was refused.
fn execute() -> Result<(), Stop> {
    let mut error = io::Error::from_raw_os_error(libc::ENOENT);
    for path in [c"/bin/true", c"/usr/bin/true"] {
        let arguments = [path.as_ptr().expose_provenance(), 0];
        let environment = [0_usize];
        match call(
            libc::SYS_execve,
            [
                path.as_ptr().expose_provenance(),
                address_of(&arguments),
                address_of(&environment),
                0,
                0,
                0,
            ],
        ) {
            Err(refused) => error = refused,
            Ok(_) => return Ok(()),
        }
    }
    Err(error.into())
}

fn copy_memory(process: u32) -> Result<(), Stop> {
    let mut buffer = [0_u8; 8];
    let here = [room_at(&mut buffer), buffer.len()];
    // No memory is ever at this address; being told so takes the right to look.
    let there = [PAGE, buffer.len()];
    match call(
        libc::SYS_process_vm_readv,
        [
            process as usize,
            address_of(&here),
            1,
            address_of(&there),
            1,
            0,
        ],
    ) {
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

fn inherited() -> Result<(), Stop> {
    const LOOKED_AT: usize = 256;
    let mut result = Err(Stop::Refused(libc::EBADF));
    for number in 3..LOOKED_AT {
        match call(libc::SYS_fcntl, [number, at(libc::F_GETFD), 0, 0, 0, 0]) {
            Ok(_) => result = Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => {}
            Err(error) => return Err(error.into()),
        }
    }
    result
}

fn exceed_files(bound: u64) -> Result<(), Stop> {
    let mut open = Vec::new();
    let mut result = Ok(());
    for _ in 0..bound {
        match call(libc::SYS_fcntl, [0, at(libc::F_DUPFD_CLOEXEC), 0, 0, 0, 0]) {
            Ok(number) => open.push(number),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    open.into_iter().for_each(close);
    Ok(result?)
}

fn processor_time() -> Result<Duration, Stop> {
    let mut time = [0_u64; 2];
    let clock = at(libc::CLOCK_PROCESS_CPUTIME_ID);
    call(
        libc::SYS_clock_gettime,
        [clock, room_at(&mut time), 0, 0, 0, 0],
    )?;
    let [seconds, _] = time;
    Ok(Duration::from_secs(seconds))
}

fn message_queue() -> Result<(), Stop> {
    let name = format!("probity-probe-{}\0", std::process::id());
    let flags = at(libc::O_CREAT | libc::O_EXCL | libc::O_RDWR);
    let name = name.as_ptr().expose_provenance();
    close(call(libc::SYS_mq_open, [name, flags, 0o600, 0, 0, 0])?);
    call(libc::SYS_mq_unlink, [name, 0, 0, 0, 0, 0])?;
    Ok(())
}

/// Returns only if it was refused beforehand.
fn dump_core() -> Result<(), Stop> {
    let now = getrlimit(Resource::Core);
    // Where no core is wanted anyway, the soft limit is all that stands against one. A
    // filter that forbids this call ends the process here, which leaves no core either.
    if now.maximum != now.current {
        let raised = Rlimit {
            current: now.maximum,
            ..now
        };
        setrlimit(Resource::Core, raised)?;
    }
    std::process::abort()
}

fn mount() -> Result<(), Stop> {
    let nothing = c"probity-probe".as_ptr().expose_provenance();
    let root = c"/".as_ptr().expose_provenance();
    match call(libc::SYS_mount, [nothing, root, nothing, 0, 0, 0]) {
        // There is no such kind of file system, which only those may ask who may mount.
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

fn map(size: usize, protection: i32) -> io::Result<usize> {
    let flags = at(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    call(libc::SYS_mmap, [0, size, at(protection), flags, at(-1), 0])
}

fn unmap(start: usize, size: usize) {
    let _ = call(libc::SYS_munmap, [start, size, 0, 0, 0, 0]);
}

fn close(descriptor: usize) {
    let _ = call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0]);
}

/// A number of C as the register of an argument holds it.
fn at(number: i32) -> usize {
    let wide = isize::try_from(number).unwrap_or_default();
    wide.cast_unsigned()
}

/// Where the kernel reads `value`, which must live until the call returned.
fn address_of<T>(value: &T) -> usize {
    std::ptr::from_ref(value).expose_provenance()
}

/// Where the kernel writes, which must live until the call returned.
fn room_at<T>(value: &mut T) -> usize {
    std::ptr::from_mut(value).expose_provenance()
}

#[allow(
    unsafe_code,
    reason = "probes stand for machine code that calls the kernel at will"
)]
fn call(number: c_long, arguments: [usize; 6]) -> io::Result<usize> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: private to this file, whose calls pass addresses of live buffers that are as
    // large as the kernel takes them to be, or mappings that nothing else uses.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
