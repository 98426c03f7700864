//! Which system calls a worker may make, and what becomes of the others.
//!
//! Found by tracing workers of both roles, then widened by what the C library and the
//! engine do under conditions that a trace did not meet. A call on no list gets `EPERM`.
//! Reading files (`open` for reading, `readlink`, `access`) is refused that way rather than
//! by death, because libraries try it in passing and cope: the number of processors,
//! the symbols for a backtrace.

use libc::c_long;

use super::settings::Role;

/// What the value of one argument must be, as the lower or all bits of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arg {
    /// The 32 bits are these.
    Is(u8, u32),
    /// The 32 bits are not these.
    Not(u8, u32),
    /// Of the 32 bits, those of the first number are these.
    Bits(u8, u32, u32),
    /// All 64 bits are zero.
    Null(u8),
    /// Some of the 64 bits are not zero.
    NotNull(u8),
}

/// A call and the arguments it is meant with: any of the lists, all of a list.
pub(super) type Call = (c_long, Vec<Vec<Arg>>);

// Calls that this version of `libc` does not name for every target. From 424 on, numbers
// are the same on all processors.
const FUTEX_WAKE: c_long = 454;
const FUTEX_WAIT: c_long = 455;
const FUTEX_REQUEUE: c_long = 456;
const MEMFD_SECRET: c_long = 447;
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const OPEN_TREE_ATTR: c_long = 467;
const FILE_SETATTR: c_long = 469;

/// What `clone` must and must not have: a thread shares memory, signals and descriptors
/// with its process, and gets no namespace, tracer or parent of its own choice.
const CLONE_NEEDED: u32 = bits(libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND);
const CLONE_LOOKED_AT: u32 = CLONE_NEEDED
    | bits(
        0xff // the signal at its end
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_PTRACE
        | libc::CLONE_VFORK
        | libc::CLONE_PARENT
        | libc::CLONE_IO
        | libc::CLONE_PIDFD
        | libc::CLONE_UNTRACED,
    );

/// Bits of the flags of `mmap` that are looked at: its kind, and growing downwards.
const MAP_LOOKED_AT: u32 = 0xf | bits(libc::MAP_GROWSDOWN);
const EXEC: u32 = bits(libc::PROT_EXEC);
const READ_EXEC: u32 = bits(libc::PROT_READ | libc::PROT_EXEC);
/// Branch protection, which the engine asks for on processors that have it.
#[cfg(target_arch = "aarch64")]
const READ_EXEC_BTI: u32 = READ_EXEC | 0x10;

/// The bits of a flag, whatever its type in C.
const fn bits(flag: i32) -> u32 {
    flag.cast_unsigned()
}

fn any(numbers: &[c_long]) -> Vec<Call> {
    numbers.iter().map(|&number| (number, vec![])).collect()
}

/// One call, for the listed values of one argument.
fn one_of(number: c_long, arg: u8, values: &[u32]) -> Call {
    let rules = values.iter().map(|&value| vec![Arg::Is(arg, value)]);
    (number, rules.collect())
}

/// The calls that a worker makes, with the arguments that it makes them with. `this` is
/// the number of the process itself.
pub(super) fn allowed(role: Role, this: u32) -> Vec<Call> {
    let mut calls = any(&[
        // Answering on descriptor 0; reading and writing descriptors that came over it.
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_pread64,
        libc::SYS_pwrite64,
        libc::SYS_recvmsg,
        libc::SYS_sendmsg,
        libc::SYS_ppoll,
        libc::SYS_close,
        // Size and end of memory-backed files.
        libc::SYS_fstat,
        libc::SYS_lseek,
        libc::SYS_ftruncate,
        // Memory: the allocator, stacks, linear memories.
        libc::SYS_brk,
        libc::SYS_munmap,
        libc::SYS_mremap,
        // Threads: their start, their locks, their end.
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_sched_yield,
        libc::SYS_sched_getaffinity,
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_exit,
        libc::SYS_exit_group,
        // Code that was made on one processor is run on another (only aarch64 needs it).
        libc::SYS_membarrier,
        // Signals: the engine turns faults of a guest into traps.
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        // Time, where it is not read without a call; sleeping, and going on after a stop.
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_gettimeofday,
        libc::SYS_nanosleep,
        libc::SYS_clock_nanosleep,
        libc::SYS_restart_syscall,
        // What the worker used, for the report.
        libc::SYS_getrusage,
        libc::SYS_getcpu,
        // Keys of hash maps.
        libc::SYS_getrandom,
    ]);
    #[cfg(target_arch = "x86_64")]
    calls.extend(any(&[libc::SYS_poll, libc::SYS_time]));
    calls.extend([
        // Sockets are only ever the connected one, so there is no address to send to.
        (libc::SYS_sendto, vec![vec![Arg::Null(4)]]),
        (libc::SYS_recvfrom, vec![vec![Arg::Null(4)]]),
        // Nothing is mapped executable. Code becomes so only after it was made read-only,
        // so memory is never writable and executable at once.
        (
            // Private memory, which the bound on data counts, and files; no stacks that grow,
            // which it does not, and no shared memory.
            libc::SYS_mmap,
            vec![
                vec![
                    Arg::Bits(2, EXEC, 0),
                    Arg::Bits(3, MAP_LOOKED_AT, bits(libc::MAP_PRIVATE)),
                ],
                vec![
                    Arg::Bits(2, EXEC, 0),
                    Arg::Bits(
                        3,
                        MAP_LOOKED_AT | bits(libc::MAP_ANONYMOUS),
                        bits(libc::MAP_SHARED),
                    ),
                ],
            ],
        ),
        (libc::SYS_mprotect, protections(role)),
        (libc::SYS_madvise, advice()),
        (
            libc::SYS_clone,
            vec![vec![Arg::Bits(0, CLONE_LOOKED_AT, CLONE_NEEDED)]],
        ),
        (libc::SYS_futex, futex_operations()),
        // `abort` signals its own thread.
        (libc::SYS_tgkill, vec![vec![Arg::Is(0, this)]]),
        // Limits may be read, its own only.
        (libc::SYS_prlimit64, vec![vec![Arg::Is(0, 0), Arg::Null(2)]]),
        // Names of threads. The second is for the installation of the filters themselves
        // and takes rights away only.
        one_of(
            libc::SYS_prctl,
            0,
            &[bits(libc::PR_SET_NAME), bits(libc::PR_SET_NO_NEW_PRIVS)],
        ),
        one_of(
            libc::SYS_fcntl,
            1,
            &[
                bits(libc::F_DUPFD_CLOEXEC),
                bits(libc::F_GETFD),
                bits(libc::F_SETFD),
                bits(libc::F_GETFL),
                bits(libc::F_SETFL),
                bits(libc::F_ADD_SEALS),
                bits(libc::F_GET_SEALS),
            ],
        ),
        one_of(libc::SYS_ioctl, 1, &IOCTLS),
        // The filters that follow; the last of them forbids it.
        one_of(libc::SYS_seccomp, 0, &[libc::SECCOMP_SET_MODE_FILTER]),
    ]);
    calls
}

/// Blocking or not, closed on `exec` or not: how the standard library sets up sockets.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::unnecessary_cast,
    reason = "the type of these constants differs between C libraries; all are below 2^16"
)]
const IOCTLS: [u32; 3] = [
    libc::FIONBIO as u32,
    libc::FIOCLEX as u32,
    libc::FIONCLEX as u32,
];

fn protections(role: Role) -> Vec<Vec<Arg>> {
    let mut rules = vec![vec![Arg::Bits(2, EXEC, 0)]];
    match role {
        Role::Guest => {
            rules.push(vec![Arg::Is(2, READ_EXEC)]);
            #[cfg(target_arch = "aarch64")]
            rules.push(vec![Arg::Is(2, READ_EXEC_BTI)]);
        }
        Role::Compiler => {}
    }
    rules
}

/// How memory is about to be used. Left out: poisoning pages, and merging equal ones,
/// whose timing tells what other processes hold.
fn advice() -> Vec<Vec<Arg>> {
    // Guards of stacks, which newer C libraries set up this way.
    const GUARD_INSTALL: i32 = 102;
    const GUARD_REMOVE: i32 = 103;
    [
        libc::MADV_NORMAL,
        libc::MADV_RANDOM,
        libc::MADV_SEQUENTIAL,
        libc::MADV_WILLNEED,
        libc::MADV_DONTNEED,
        libc::MADV_FREE,
        libc::MADV_DONTFORK,
        libc::MADV_HUGEPAGE,
        libc::MADV_NOHUGEPAGE,
        libc::MADV_DONTDUMP,
        libc::MADV_POPULATE_READ,
        libc::MADV_POPULATE_WRITE,
        GUARD_INSTALL,
        GUARD_REMOVE,
    ]
    .into_iter()
    .map(|advice| vec![Arg::Is(2, bits(advice))])
    .collect()
}

/// Waiting and waking. Left out: everything with inheritance of priorities, which no
/// lock of ours uses and which was the way into several kernels.
fn futex_operations() -> Vec<Vec<Arg>> {
    const COMMAND: u32 = !bits(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    [
        libc::FUTEX_WAIT,
        libc::FUTEX_WAKE,
        libc::FUTEX_REQUEUE,
        libc::FUTEX_CMP_REQUEUE,
        libc::FUTEX_WAKE_OP,
        libc::FUTEX_WAIT_BITSET,
        libc::FUTEX_WAKE_BITSET,
    ]
    .into_iter()
    .map(|operation| vec![Arg::Bits(1, COMMAND, bits(operation))])
    .collect()
}

/// Calls that are answered as if the kernel did not have them (`ENOSYS`), because their
/// callers then do without: flags of `clone3` and paths of `statx` are behind pointers, so
/// a filter cannot look at them; the engine copies where it has no `memfd_create`.
pub(super) fn absent() -> Vec<Call> {
    any(&[
        libc::SYS_clone3,
        libc::SYS_memfd_create,
        libc::SYS_statx,
        libc::SYS_futex_waitv,
        FUTEX_WAKE,
        FUTEX_WAIT,
        FUTEX_REQUEUE,
    ])
}

/// The call that a handler of ours answers; see `stat_trap`.
pub(super) fn trapped() -> Vec<Call> {
    any(&[libc::SYS_newfstatat])
}

/// Calls that no worker makes and that an attacker would: they end the process at once,
/// which its parent sees.
pub(super) fn fatal(this: u32) -> Vec<Call> {
    let mut calls = any(&[
        // Other programs and processes.
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_kill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_send_signal,
        libc::SYS_kcmp,
        // Sockets.
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        // Changes to the file system.
        libc::SYS_openat2,
        libc::SYS_open_by_handle_at,
        libc::SYS_unlinkat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_mkdirat,
        libc::SYS_linkat,
        libc::SYS_symlinkat,
        libc::SYS_mknodat,
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        FCHMODAT2,
        libc::SYS_fchown,
        libc::SYS_fchownat,
        libc::SYS_truncate,
        libc::SYS_utimensat,
        libc::SYS_setxattr,
        libc::SYS_lsetxattr,
        libc::SYS_fsetxattr,
        SETXATTRAT,
        libc::SYS_removexattr,
        libc::SYS_lremovexattr,
        libc::SYS_fremovexattr,
        REMOVEXATTRAT,
        FILE_SETATTR,
        // Mounts and namespaces.
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        OPEN_TREE_ATTR,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_setns,
        libc::SYS_unshare,
        // Rights.
        libc::SYS_setuid,
        libc::SYS_setgid,
        libc::SYS_setreuid,
        libc::SYS_setregid,
        libc::SYS_setresuid,
        libc::SYS_setresgid,
        libc::SYS_setfsuid,
        libc::SYS_setfsgid,
        libc::SYS_setgroups,
        libc::SYS_capset,
        libc::SYS_setrlimit,
        libc::SYS_personality,
        libc::SYS_seccomp,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        // Large and often broken parts of the kernel.
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_userfaultfd,
        libc::SYS_fanotify_init,
        libc::SYS_fanotify_mark,
        MEMFD_SECRET,
        // The machine.
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_acct,
        libc::SYS_syslog,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
    ]);
    #[cfg(target_arch = "x86_64")]
    calls.extend(any(&[
        libc::SYS_fork,
        libc::SYS_vfork,
        libc::SYS_creat,
        libc::SYS_unlink,
        libc::SYS_rename,
        libc::SYS_mkdir,
        libc::SYS_rmdir,
        libc::SYS_link,
        libc::SYS_symlink,
        libc::SYS_mknod,
        libc::SYS_chmod,
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
        libc::SYS_iopl,
        libc::SYS_ioperm,
        libc::SYS_modify_ldt,
        libc::SYS_kexec_file_load,
    ]));
    #[cfg(target_arch = "x86_64")]
    calls.push((libc::SYS_open, opening_to_write(1)));
    calls.extend([
        (libc::SYS_openat, opening_to_write(2)),
        // A new process rather than a new thread.
        (
            libc::SYS_clone,
            vec![vec![Arg::Bits(0, bits(libc::CLONE_THREAD), 0)]],
        ),
        (libc::SYS_tgkill, vec![vec![Arg::Not(0, this)]]),
        (
            libc::SYS_prlimit64,
            vec![vec![Arg::Not(0, 0)], vec![Arg::NotNull(2)]],
        ),
        one_of(
            libc::SYS_prctl,
            0,
            &[
                bits(libc::PR_SET_PDEATHSIG),
                bits(libc::PR_SET_DUMPABLE),
                bits(libc::PR_SET_MM),
                bits(libc::PR_SET_PTRACER),
                bits(libc::PR_SET_SECCOMP),
                bits(libc::PR_SET_KEEPCAPS),
                bits(libc::PR_CAP_AMBIENT),
            ],
        ),
        // Typing into a terminal.
        one_of(libc::SYS_ioctl, 1, &[0x5412, 0x541c, 0x541d]),
    ]);
    calls
}

/// Opening for anything but reading what is there.
fn opening_to_write(flags: u8) -> Vec<Vec<Arg>> {
    // Not `O_ACCMODE`, to which some C libraries add a bit.
    const MODE: u32 = 3;
    let set = |flag: u32| vec![Arg::Bits(flags, flag, flag)];
    vec![
        vec![Arg::Bits(flags, MODE, bits(libc::O_WRONLY))],
        vec![Arg::Bits(flags, MODE, bits(libc::O_RDWR))],
        vec![Arg::Bits(flags, MODE, MODE)],
        set(bits(libc::O_CREAT)),
        set(bits(libc::O_TRUNC)),
    ]
}
