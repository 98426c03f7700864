"""A program of the repository, run as `python SCRIPT …` or `python -m MODULE …` would.

Invariants: what it prints goes to the guest's own streams, its input is the guest's, and its exit code is
the guest's; nothing else is reported.
Absent: options of the interpreter, and any defence: what a guest prints is the candidate's answer.
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
import traceback


def run(argv: list[str]) -> int:
    """Run the program with these arguments to its end; its exit code."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # the one of the warm-up has been at its end
    try:
        if argv[0] == "-m":
            sys.argv[:] = argv[1:]
            sys.path.insert(0, os.getcwd())
            runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv[:] = argv
            sys.path.insert(0, os.path.dirname(os.path.abspath(argv[0])))
            runpy.run_path(argv[0], run_name="__main__")
        code = 0
    except SystemExit as error:
        code = code_of(error)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    return code


def code_of(error: SystemExit) -> int:
    """The exit code that the interpreter would end with."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1
