"""Run one session of a test runner inside the sandbox, in an interpreter that starts now: `main.py CONFIG`.

CONFIG is a JSON file:

    root         absolute folder of the repository; the working folder and pytest's rootdir
    runner       "pytest", "unittest", "call", "program" (default "pytest"), or "candidate": no tests, but what
                 they reach across a border
    python_path  folders relative to root that come first in sys.path (default none)
    site         absolute folders with installed wheels, after python_path (default none)
    args         the runner's arguments (default none)
    results      file or device that gets one JSON record a line (see probity_pytest.py and
                 probity_unittest.py); it must exist
    results_size bytes that `results` takes (default 64 MiB)
    seed         integer for the global random generator (default 0)
    skip         ids of tests that are not run: those that an earlier session of the suite has begun
                 (default none)
    only         ids of the tests that are run (default all)
    calls        calls that are made by the runner "call" (see probity_call.py); its `args` are the module
                 and the function, those of "program" are what Python runs
    pause        whether the session stops after collection, to go on in a snapshot (default false)
    key          secret in hexadecimal that records are signed with (probity_records.py); with one, CONFIG is
                 emptied once it is read (default none)
    shuffle      whether the order of the tests follows from the seed (default false)
    canaries     whether tests of ours run among them (probity_canaries.py; default false)
    allow        full names of functions of the runners that may be replaced (probity_integrity.py; default
                 none)
    bundled      top-level names of the runtime's own third-party packages that may be imported
                 (default none, `["*"]` all)
    across       names of modules that the tests reach only across a border (default none)
    border       file with a line of what came across the border so far: answers for a runner of tests (see
                 probity_across.py), messages for the runner "candidate" (see probity_candidate.py)

Unknown keys are an error. The exit code is the runner's; 3 if the session could not be set up.

Invariants: the results device is open, and the runner and our part of it are imported, before any code of
the repository is; the repository's modules win over installed wheels, these over the runtime; a module that was
imported earlier (in a snapshot) from another place than the one that wins now is imported anew; packages
that the runtime happens to bundle do not exist unless named, so that a missing dependency fails here as it
fails elsewhere. The environment cannot steer pytest.

Absent: `.pth` files, virtual environments, command line flags.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import probity_session

    probity_session.main(sys.argv[1])
    probity_session.leave(0)  # collection was all that was wanted; each test gets an interpreter of its own
