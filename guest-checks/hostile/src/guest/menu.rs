//! The list of sub-commands and the way in.
//!
//! Most endless sub-commands end only by a limit. Those that probe a wall exit with
//! [`REFUSED`] when every attempt was refused and with 0 when one went through, and print
//! what happened on stdout either way. `list` prints every sub-command with what it does.

use std::process::ExitCode;

use super::{churn, files, links, raw, resources, walls};

/// Exit code of a sub-command whose every attempt was refused.
pub(crate) const REFUSED: u8 = 7;

type Attack = fn(&[String]) -> ExitCode;

/// Every sub-command: its name, what it does, and the function.
const ATTACKS: &[(&str, &str, Attack)] = &[
    ("loop", "spins for ever", resources::spin),
    (
        "recurse",
        "recurses without end, with real frames",
        resources::recurse,
    ),
    (
        "allocate",
        "grows its memory without end and touches it; a refusal traps",
        resources::allocate,
    ),
    (
        "grow-refused",
        "grows its memory until that is refused, prints the bytes, exits 0",
        resources::grow_refused,
    ),
    (
        "print",
        "prints to stdout for ever; stops with 7 when refused",
        resources::print,
    ),
    (
        "print-stderr",
        "prints to stderr for ever; stops with 7 when refused",
        resources::print_stderr,
    ),
    (
        "sleep",
        "sleeps an hour, prints how long that took by each clock, exits 0",
        resources::sleep,
    ),
    (
        "exit",
        "exits with the code in the next argument",
        resources::exit,
    ),
    (
        "trap",
        "executes an unreachable instruction",
        resources::trap,
    ),
    (
        "random",
        "prints 16 random bytes as hex, exits 0",
        resources::random,
    ),
    (
        "clock",
        "prints the wall clock and the steps of the monotonic clock, exits 0",
        resources::clock,
    ),
    (
        "env",
        "prints arguments and environment, exits 0",
        resources::environment,
    ),
    ("socket", "connects to 127.0.0.1:80", walls::socket),
    ("spawn", "starts a process", walls::spawn),
    ("thread", "starts a thread", walls::thread),
    ("passwd", "opens /etc/passwd", walls::passwd),
    (
        "dotdot",
        "leaves /repo by `..`, for files and a folder",
        walls::dotdot,
    ),
    (
        "write-repo",
        "writes, creates, deletes, renames, links and truncates in /repo",
        walls::write_repo,
    ),
    (
        "read-tree",
        "prints every path below / with kind and size, exits 0",
        files::read_tree,
    ),
    (
        "fill-tmp",
        "writes to /tmp/f until an error, prints the bytes, exits 0",
        files::fill_tmp,
    ),
    (
        "sparse-tmp",
        "writes one byte far into /tmp/s until an error, prints the offsets, exits 0",
        files::sparse_tmp,
    ),
    (
        "many-files",
        "creates files in /tmp until an error, prints how many, exits 0",
        files::many_files,
    ),
    (
        "deep-dirs",
        "nests folders in /tmp until an error, prints how many, exits 0",
        files::deep_dirs,
    ),
    (
        "long-name",
        "creates files with ever longer names until an error, prints the length, exits 0",
        files::long_name,
    ),
    (
        "open-many",
        "opens one file until an error, prints how often, exits 0",
        files::open_many,
    ),
    (
        "big-random",
        "asks for 3 GiB of randomness in one call, prints the errno, exits 0",
        raw::big_random,
    ),
    (
        "poll-many",
        "polls 100 million subscriptions in one call, prints the errno, exits 0",
        raw::poll_many,
    ),
    (
        "poll-forever",
        "polls one clock for the longest time there is, prints the errno, exits 0",
        raw::poll_forever,
    ),
    (
        "iovec-bomb",
        "writes 64 GiB to stdout in one call by vectors on one buffer, prints the errno, exits 0",
        raw::iovec_bomb,
    ),
    (
        "iovec-count",
        "writes with 4 billion vectors, prints the errno, exits 0",
        raw::iovec_count,
    ),
    (
        "bad-pointers",
        "passes pointers past its memory to many calls",
        raw::bad_pointers,
    ),
    (
        "bad-descriptors",
        "passes descriptors that were never opened to many calls",
        raw::bad_descriptors,
    ),
    (
        "panic",
        "panics with a message of terminal escapes and without end of line",
        resources::panic,
    ),
    (
        "print-escapes",
        "prints terminal escapes and no newline for ever",
        resources::print_escapes,
    ),
    (
        "sleep-for-ever",
        "sleeps for the longest time there is, again and again, exits 0",
        resources::sleep_for_ever,
    ),
    (
        "wait",
        "waits by the clock until a year has passed, with sleeps of an hour; exits 0",
        resources::wait,
    ),
    (
        "stdin",
        "reads stdin until its end, prints how many bytes came, exits 0",
        resources::stdin,
    ),
    (
        "stack-ping-pong",
        "recurses through function pointers without end",
        resources::ping_pong,
    ),
    (
        "symlink-loop",
        "opens, lists and writes through links that lead to themselves or on for too long",
        links::symlink_loop,
    ),
    (
        "symlink-escape",
        "leaves /tmp by links with `..`",
        links::symlink_escape,
    ),
    (
        "rename-link-escape",
        "makes a harmless link and moves it to where it leads out of /tmp",
        links::rename_link_escape,
    ),
    (
        "trailing-slash",
        "opens, makes, moves and deletes files and links with a slash at the end",
        links::trailing_slash,
    ),
    (
        "hard-links",
        "gives a file long names until that is refused, prints how many, exits 0",
        links::hard_links,
    ),
    (
        "symlink-farm",
        "makes links with long targets until that is refused, prints how many, exits 0",
        links::symlink_farm,
    ),
    (
        "resolve-bomb",
        "looks for ever at a path of 39 links with long targets",
        links::resolve_bomb,
    ),
    (
        "mount-points",
        "removes, moves and replaces mount points, and folders into themselves",
        links::mount_points,
    ),
    (
        "open-close",
        "opens and closes a file for ever; stops with 0 when refused",
        churn::open_close,
    ),
    (
        "create-delete",
        "makes, fills and deletes files for ever; stops with 0 when refused",
        churn::create_delete,
    ),
    (
        "folder-churn",
        "makes and deletes folders for ever; stops with 0 when refused",
        churn::folder_churn,
    ),
    (
        "rename-churn",
        "moves files over each other for ever; stops with 0 when refused",
        churn::rename_churn,
    ),
    (
        "list-churn",
        "lists a folder from its start for ever; stops with 0 when refused",
        churn::list_churn,
    ),
    (
        "unlinked-open",
        "fills files that have no name any more until that is refused, exits 0",
        churn::unlinked_open,
    ),
    (
        "shrink-by-one",
        "makes a large file shorter by a byte for ever; stops with 0 when refused",
        churn::shrink_by_one,
    ),
    (
        "grow-and-empty",
        "makes files large and empty again, prints how many, exits 0",
        churn::grow_and_empty,
    ),
    (
        "miss-many",
        "asks for ever for files that are not there, each time another one",
        churn::miss_many,
    ),
];

/// Runs the sub-command that the first argument names.
pub(crate) fn serve() -> ExitCode {
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let name = arguments.first().map_or("", String::as_str);
    let rest = arguments.get(1..).unwrap_or_default();
    if name == "list" {
        for (name, about, _) in ATTACKS {
            println!("{name}\t{about}");
        }
        return ExitCode::SUCCESS;
    }
    match ATTACKS.iter().find(|(known, _, _)| *known == name) {
        Some((_, _, attack)) => attack(rest),
        None => {
            eprintln!("hostile: {name:?} is no sub-command; `list` prints them");
            ExitCode::from(2)
        }
    }
}
