"""Stand-ins for what WASI lacks, so that suites written for a POSIX machine can run.

Invariants: a stand-in either does what POSIX allows in some real run (user 0, a thread that happens to run
to its end as soon as it starts, a clock that jumps to the end of a sleep), or raises `ledger.Unsupported`,
whose message begins with "unsupported:". It replaces only what the interpreter lacks. Each use that a
test's outcome may rest on is noted in the ledger and reported with the test.

Absent: other programs, networks, signals, terminals. A race between threads cannot happen here,
so a test that passes is no evidence that there is none.
"""

from __future__ import annotations


def install() -> None:
    """Put all stand-ins in place; a second call does nothing. Call it before other modules are imported."""
    from . import (
        descriptors,
        executors,
        file_modes,
        hashes,
        hosts,
        identity,
        local_time,
        locales,
        locks,
        missing,
        paths,
        processes,
        readiness,
        sockets,
        threads,
    )

    first = (identity, paths, file_modes, local_time, locks, threads)  # the others import what these change
    for part in (
        *first,
        locales,
        descriptors,
        executors,
        hashes,
        hosts,
        sockets,
        readiness,
        processes,
        missing,
    ):
        part.install()
