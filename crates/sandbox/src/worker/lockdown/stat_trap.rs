//! Size of an open file, for C libraries that ask by path.
//!
//! `newfstatat` takes a path or, with an empty one, a descriptor. A filter cannot look at
//! the path, so allowing the call would tell which files of the host exist and how large
//! they are, and landlock does not cover that. Some versions of glibc (2.33 to 2.38) make
//! `fstat` of it. So the call is trapped, and this handler makes the call that takes a
//! descriptor only. Nothing rests on the handler: it can do no more than the filters allow.

use std::io;

/// Installs the handler for the whole process.
///
/// # Errors
/// When the kernel refuses a handler of `SIGSYS`.
#[allow(unsafe_code, reason = "installing a signal handler")]
pub(super) fn install() -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = answer;
    // SAFETY: all zeroes is a valid `sigaction`; the handler has the type that SA_SIGINFO
    // asks for, and makes system calls only, which may be made in a handler.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut())
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Answers the trapped call as the kernel would: its result in the register of results.
#[allow(
    unsafe_code,
    reason = "a signal handler reads and writes the registers of the interrupted call"
)]
extern "C" fn answer(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a context of this type. `errno` belongs to
    // this thread. The path is read only as far as its first byte, where the kernel would
    // have read it; the buffer is the one that the caller gave for the same structure.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let mut registers = Registers::of(context.cast());
        let [descriptor, path, buffer, flags] = registers.arguments();
        let path = path as *const u8;
        let is_fstat = registers.number() == libc::SYS_newfstatat
            && flags & i64::from(libc::AT_EMPTY_PATH) != 0
            && (path.is_null() || path.read() == 0);
        let result = if !is_fstat {
            -i64::from(libc::EPERM)
        } else if libc::syscall(libc::SYS_fstat, descriptor, buffer) == 0 {
            0
        } else {
            -i64::from(*errno)
        };
        registers.give(result);
        *errno = before;
    }
}

/// The registers of the interrupted call.
struct Registers<'a>(&'a mut libc::mcontext_t);

#[allow(unsafe_code, reason = "a pointer that the kernel passed")]
impl Registers<'_> {
    /// # Safety
    /// `context` is the third argument of a handler with SA_SIGINFO that is still running.
    unsafe fn of(context: *mut libc::ucontext_t) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { &mut (*context).uc_mcontext })
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(
    clippy::indexing_slicing,
    clippy::cast_sign_loss,
    reason = "constant indices of an array of fixed length"
)]
impl Registers<'_> {
    fn number(&self) -> libc::c_long {
        self.0.gregs[libc::REG_RAX as usize]
    }

    fn arguments(&self) -> [i64; 4] {
        [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10]
            .map(|register| self.0.gregs[register as usize])
    }

    fn give(&mut self, result: i64) {
        self.0.gregs[libc::REG_RAX as usize] = result;
    }
}

#[cfg(target_arch = "aarch64")]
#[allow(
    clippy::indexing_slicing,
    reason = "constant indices of an array of fixed length"
)]
impl Registers<'_> {
    fn number(&self) -> libc::c_long {
        self.0.regs[8].cast_signed()
    }

    fn arguments(&self) -> [i64; 4] {
        [0, 1, 2, 3].map(|register: usize| self.0.regs[register].cast_signed())
    }

    fn give(&mut self, result: i64) {
        self.0.regs[0] = result.cast_unsigned();
    }
}
