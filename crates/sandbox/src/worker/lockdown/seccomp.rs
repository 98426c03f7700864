//! The filters of system calls.
//!
//! Four stacked ones, installed in this order: what is allowed (all else `EPERM`), what is
//! answered as absent (`ENOSYS`), what a handler answers, and what is fatal. The kernel runs
//! all of them and takes the strictest answer, of equal ones that of the newest filter.
//! The last forbids installing any more. Calls under another processor's numbering
//! (32-bit calls on a 64-bit kernel) end the process; x32 numbers are on no list.

use super::report::State;
use super::settings::Role;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn install(_: Role) -> State {
    State::NotOffered {
        why: format!("no filter was written for {}", std::env::consts::ARCH),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn install(role: Role) -> State {
    match filters::install(role) {
        Ok(instructions) => State::Active {
            detail: format!("4 filters, {instructions} instructions"),
        },
        Err(seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error))
            if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) =>
        {
            State::NotOffered {
                why: "this kernel was built without seccomp filters".to_owned(),
            }
        }
        Err(error) => State::Failed {
            why: error.to_string(),
        },
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod filters {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
        SeccompFilter, SeccompRule, TargetArch, apply_filter_all_threads,
    };

    use crate::worker::lockdown::settings::Role;
    use crate::worker::lockdown::stat_trap;
    use crate::worker::lockdown::syscalls::{Arg, Call, absent, allowed, fatal, trapped};

    #[cfg(target_arch = "x86_64")]
    const ARCH: TargetArch = TargetArch::x86_64;
    #[cfg(target_arch = "aarch64")]
    const ARCH: TargetArch = TargetArch::aarch64;

    /// Installs the filters and returns how many instructions they have. All are built
    /// before the first is installed.
    pub(super) fn install(role: Role) -> Result<usize, Error> {
        const EPERM: u32 = libc::EPERM.cast_unsigned();
        const ENOSYS: u32 = libc::ENOSYS.cast_unsigned();
        let this = std::process::id();
        let allow = SeccompAction::Allow;
        let programs = [
            program(allowed(role, this), SeccompAction::Errno(EPERM), allow)?,
            list(absent(), SeccompAction::Errno(ENOSYS))?,
            list(trapped(), SeccompAction::Trap)?,
            list(fatal(this), SeccompAction::KillProcess)?,
        ];
        stat_trap::install().map_err(Error::Seccomp)?;
        for each in &programs {
            apply_filter_all_threads(each)?;
        }
        Ok(programs.iter().map(Vec::len).sum())
    }

    fn list(calls: Vec<Call>, action: SeccompAction) -> Result<BpfProgram, Error> {
        program(calls, SeccompAction::Allow, action)
    }

    /// A filter that answers `calls` with `action`, and all others with `otherwise`.
    fn program(
        calls: Vec<Call>,
        otherwise: SeccompAction,
        action: SeccompAction,
    ) -> Result<BpfProgram, Error> {
        let mut rules = BTreeMap::new();
        for (number, lists) in calls {
            let mut chain = Vec::with_capacity(lists.len());
            for list in lists {
                let conditions: Result<Vec<_>, _> = list.into_iter().map(condition).collect();
                chain.push(SeccompRule::new(conditions?)?);
            }
            rules.insert(number, chain);
        }
        let filter = SeccompFilter::new(rules, otherwise, action, ARCH)?;
        Ok(filter.try_into()?)
    }

    fn condition(arg: Arg) -> Result<SeccompCondition, seccompiler::BackendError> {
        use SeccompCmpArgLen::{Dword, Qword};
        match arg {
            Arg::Is(index, value) => {
                SeccompCondition::new(index, Dword, SeccompCmpOp::Eq, value.into())
            }
            Arg::Not(index, value) => {
                SeccompCondition::new(index, Dword, SeccompCmpOp::Ne, value.into())
            }
            Arg::Bits(index, mask, value) => {
                let operator = SeccompCmpOp::MaskedEq(mask.into());
                SeccompCondition::new(index, Dword, operator, value.into())
            }
            Arg::Null(index) => SeccompCondition::new(index, Qword, SeccompCmpOp::Eq, 0),
            Arg::NotNull(index) => SeccompCondition::new(index, Qword, SeccompCmpOp::Ne, 0),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn no_call_is_listed_twice_in_a_list() {
            for calls in [
                allowed(Role::Guest, 1),
                allowed(Role::Compiler, 1),
                absent(),
                trapped(),
                fatal(1),
            ] {
                let mut numbers: Vec<_> = calls.iter().map(|(number, _)| *number).collect();
                numbers.sort_unstable();
                assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
            }
        }

        #[test]
        fn a_call_that_is_both_allowed_and_fatal_depends_on_its_arguments() {
            let fatal = fatal(1);
            for (number, lists) in allowed(Role::Guest, 1) {
                // Needed while the filters are installed; the last filter ends that.
                if number == libc::SYS_seccomp {
                    continue;
                }
                if fatal.iter().any(|(each, _)| *each == number) {
                    assert!(!lists.is_empty(), "{number}");
                }
            }
        }
    }
}
