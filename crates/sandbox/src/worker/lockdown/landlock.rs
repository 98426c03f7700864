//! Landlock: three rulesets that handle everything and allow nothing.
//!
//! They are stacked one by one, so that each can be tried and reported alone. Landlock does
//! not cover `stat`, `chmod`, `chown`, extended attributes and times; seccomp does.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, Ruleset,
    RulesetAttr, RulesetError, RulesetStatus, Scope,
};

use super::report::State;

/// The newest interface whose rights were looked at; a kernel with a newer one is used
/// up to here.
const NEWEST: ABI = ABI::V10;

pub(super) fn files() -> State {
    let ruleset = base().handle_access(AccessFs::from_all(NEWEST));
    restrict(ruleset, 1, |abi| {
        let rights = AccessFs::from_all(abi).len();
        format!("{rights} rights")
    })
}

pub(super) fn network() -> State {
    let ruleset = base().handle_access(AccessNet::from_all(NEWEST));
    restrict(ruleset, 4, |abi| {
        let udp = AccessNet::from_all(abi).contains(AccessNet::BindUdp);
        if udp { "TCP and UDP" } else { "TCP only" }.to_owned()
    })
}

pub(super) fn scope() -> State {
    let ruleset = base().scope(Scope::from_all(NEWEST));
    restrict(ruleset, 6, |_| "signals and abstract sockets".to_owned())
}

fn base() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::BestEffort)
}

/// Applies a ruleset. `since` is the first interface that has any of its rights.
fn restrict(
    ruleset: Result<Ruleset, RulesetError>,
    since: u32,
    detail: impl Fn(ABI) -> String,
) -> State {
    let status = match ruleset
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self)
    {
        Ok(status) => status,
        Err(error) => {
            return State::Failed {
                why: error.to_string(),
            };
        }
    };
    let abi = match status.landlock {
        LandlockStatus::NotImplemented => {
            return State::NotOffered {
                why: "this kernel does not have landlock".to_owned(),
            };
        }
        LandlockStatus::NotEnabled => {
            return State::NotOffered {
                why: "landlock was not enabled when this kernel started".to_owned(),
            };
        }
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
    };
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => State::Active {
            detail: format!("ABI {abi}: {}", detail(abi)),
        },
        RulesetStatus::NotEnforced => State::NotOffered {
            why: format!("this kernel has ABI {abi} of landlock, it needs {since}"),
        },
    }
}
