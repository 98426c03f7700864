"""`subprocess` for one program only: Python itself, run within this interpreter.

`[sys.executable, "-m", …]`, `[…, "-c", …]`, `[…, "script.py"]` and `[…, "-"]` (the program comes through
standard input) run with their own arguments, environment, working folder, standard streams, warning filters
and freshly imported modules of the project and its wheels.

Invariants: everything above is restored afterwards; any other program, flag or option is refused, with the
usual error if no such program exists. What the child writes to an inherited stream goes to the real descriptor,
not to a test's capture of `sys.stdout`. A child with a pipe as standard input runs when that is closed or
its result asked for.
Absent: isolation of the standard library's own state, which parent and child share; signals, timeouts,
descriptors beyond the three; asyncio's subprocesses.
"""

from __future__ import annotations

import contextlib
import contextvars
import errno
import io
import itertools
import os
import shutil
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .ledger import note, unsupported_call
from .threads import new_ident, run_as

_system_popen = subprocess.Popen
_pids = itertools.count(1000)
WITHOUT_EFFECT = frozenset({"-u", "-B", "-s", "-S", "-E", "-I", "-P", "-q"})
OPTIONS = frozenset(
    {
        "bufsize",
        "stdin",
        "stdout",
        "stderr",
        "close_fds",
        "cwd",
        "env",
        "universal_newlines",
        "encoding",
        "errors",
        "text",
        "restore_signals",
        "start_new_session",
        "pipesize",
    }
)


class Program:
    """What an interpreter's command line says."""

    def __init__(self, kind: str, what: str, args: list[str]) -> None:
        self.kind, self.what, self.args = kind, what, args

    @classmethod
    def of(cls, command: Any) -> Program | None:
        """The program, or nothing if it is not one for this interpreter."""
        if isinstance(command, (str, bytes, os.PathLike)):
            return None
        words = [os.fsdecode(word) for word in command]
        if not words or words[0] != sys.executable:
            return None
        rest = words[1:]
        while rest and rest[0] in WITHOUT_EFFECT:
            rest = rest[1:]
        if len(rest) >= 2 and rest[0] in ("-m", "-c"):
            return cls(rest[0], rest[1], rest[2:])
        if not rest or rest[0] == "-":
            return cls("-", "", rest[1:])
        if rest and not rest[0].startswith("-"):
            return cls("script", rest[0], rest[1:])
        return None

    def import_path(self, environment: dict[str, str]) -> list[str]:
        """What a fresh interpreter puts before the wheels."""
        first = os.path.dirname(os.path.abspath(self.what)) if self.kind == "script" else os.getcwd()
        return [first, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]

    def run(self) -> None:
        """Run it as `__main__`."""
        import runpy

        if self.kind == "-m":
            sys.argv = ["-m", *self.args]
            runpy.run_module(self.what, run_name="__main__", alter_sys=True)
        elif self.kind == "-c":
            sys.argv = ["-c", *self.args]
            self._run_text(self.what, "<string>")
        elif self.kind == "-":
            sys.argv = ["-", *self.args]
            self._run_text(sys.stdin.read(), "<stdin>")
        else:
            sys.argv = [self.what, *self.args]
            runpy.run_path(self.what, run_name="__main__")

    def _run_text(self, source: str, name: str) -> None:
        main = type(sys)("__main__")
        sys.modules["__main__"] = main
        exec(compile(source, name, "exec"), main.__dict__)


class Popen(_system_popen):
    """A child that is a program for this interpreter."""

    def __init__(self, args: Any, *rest: Any, **options: Any) -> None:
        program = Program.of(args)
        if program is None or rest or any(value for name, value in options.items() if name not in OPTIONS):
            self._child_created = False  # nothing for the destructor to wait for
            raise refusal(args, options.get("shell", False), options.get("env"))
        note("processes")
        self.args, self.pid, self.returncode = args, next(_pids), None
        self._child_created = False
        self._program, self._options = program, options
        self._input = self._out = self._err = b""
        self.text_mode = bool(
            options.get("encoding")
            or options.get("errors")
            or options.get("text")
            or options.get("universal_newlines")
        )
        self.encoding, self.errors = options.get("encoding"), options.get("errors")
        self.stdin = self.stdout = self.stderr = None
        if options.get("stdout") == subprocess.PIPE:
            self.stdout = self._reader(lambda: self._out)
        if options.get("stderr") == subprocess.PIPE:
            self.stderr = self._reader(lambda: self._err)
        if options.get("stdin") == subprocess.PIPE:
            self.stdin = self._wrapped(Input(self._give), write_through=True)
        else:
            self._input = read_all(options.get("stdin"))
            self._run()

    def _wrapped(self, stream: Any, **how: Any) -> Any:
        if not self.text_mode:
            return stream
        return io.TextIOWrapper(stream, encoding=self.encoding or "utf-8", errors=self.errors, **how)

    def _reader(self, content: Callable[[], bytes]) -> Any:
        return self._wrapped(io.BufferedReader(Output(self._run, content)))

    def _give(self, data: bytes) -> None:
        self._input = data
        self._run()

    def _run(self) -> None:
        if self.returncode is not None:
            return
        self.returncode = -1  # in the middle of it
        if self.stdin is not None and not self.stdin.closed:
            self.stdin.flush()
            self._input = (self.stdin.buffer if self.text_mode else self.stdin).getvalue()
        out = io.BytesIO()
        err = out if self._options.get("stderr") == subprocess.STDOUT else io.BytesIO()
        self.returncode = run_program(self._program, self._options, self._input, out, err)
        self._out = deliver(out, self._options.get("stdout"), 1)
        if err is not out:
            self._err = deliver(err, self._options.get("stderr"), 2)

    def poll(self) -> int | None:
        """The exit code, or None while the child waits for its input to end."""
        if self.stdin is not None and not self.stdin.closed:
            return self.returncode
        self._run()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Let the child run to its end."""
        self._run()
        return self.returncode

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Give all input, get all output."""
        if self.stdin is not None and not self.stdin.closed:
            if input:
                self.stdin.write(input)
            self.stdin.close()
        self._run()
        outputs = [stream and stream.read() for stream in (self.stdout, self.stderr)]
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        return outputs[0], outputs[1]

    def send_signal(self, sig: int) -> None:
        """Too late: the child has ended, or will not be reached."""


def refusal(command: Any, shell: bool, environment: Any) -> OSError:
    """The error for a program that cannot run: the usual one if it does not exist, which most do not here."""
    words = [command] if isinstance(command, (str, bytes, os.PathLike)) else list(command)
    first = os.fsdecode("/bin/sh" if shell else words[0]) if words else ""
    path = os.environ.get("PATH") if environment is None else environment.get("PATH")
    known = first == sys.executable or os.path.isfile(first) or shutil.which(first, path=path or os.defpath)
    if not known:
        return FileNotFoundError(errno.ENOENT, "unsupported: processes: there is no such program", first)
    return unsupported_call("processes: %s" % bounded_command(command))


def bounded_command(command: Any) -> str:
    """The command line for a message."""
    text = repr(command)
    return text if len(text) <= 200 else text[:200] + "…"


class Input(io.BytesIO):
    """The child's standard input, seen from its parent."""

    def __init__(self, on_close: Callable[[bytes], None]) -> None:
        super().__init__()
        self._on_close = on_close

    def close(self) -> None:
        """End the input, which starts the child."""
        if not self.closed:
            data = self.getvalue()
            super().close()
            self._on_close(data)


class Output(io.RawIOBase):
    """The child's output, seen from its parent; reading it runs the child."""

    def __init__(self, run: Callable[[], None], content: Callable[[], bytes]) -> None:
        self._prepare, self._content, self._at = run, content, 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        self._prepare()
        part = self._content()[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


def read_all(source: Any) -> bytes:
    """What a child would read from the argument `stdin`."""
    if source is None or source == subprocess.DEVNULL:
        return b""
    descriptor = source if isinstance(source, int) else source.fileno()
    parts = iter(lambda: os.read(descriptor, 1 << 16), b"")
    return b"".join(parts)


def deliver(output: io.BytesIO, target: Any, inherited: int) -> bytes:
    """Send a stream where the parent wanted it; what is for a pipe is returned."""
    data = output.getvalue()
    if target == subprocess.PIPE:
        return data
    if target != subprocess.DEVNULL:
        descriptor = inherited if target is None else target if isinstance(target, int) else target.fileno()
        left = data
        while left:
            left = left[os.write(descriptor, left) :]
    return b""


def run_program(
    program: Program, options: dict[str, Any], data: bytes, out: io.BytesIO, err: io.BytesIO
) -> int:
    """Run the program to its end; its exit code."""
    code = 0
    with restored(options, data, out, err) as environment:
        sys.path[:0] = program.import_path(environment)
        failures: list[BaseException] = []

        def body() -> None:
            try:
                contextvars.Context().run(program.run)
            except BaseException as error:
                failures.append(error)

        run_as(new_ident(), body)
        if failures:
            code = exit_code(failures[0])
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(ValueError):
                stream.flush()
    return code


def exit_code(error: BaseException) -> int:
    """The exit code for what ended the program, reported as the interpreter does."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    traceback.print_exception(error, file=sys.stderr)
    return 1


@contextlib.contextmanager
def restored(
    options: dict[str, Any], data: bytes, out: io.BytesIO, err: io.BytesIO
) -> Iterator[dict[str, str]]:
    """The child's world for as long as the block runs, then the parent's again."""
    from . import imports

    kept = {
        name: getattr(sys, name)
        for name in ("argv", "stdin", "stdout", "stderr", "excepthook", "displayhook", "dont_write_bytecode")
    }
    lists = {name: list(getattr(sys, name)) for name in ("path", "meta_path", "path_hooks")}
    modules, environment, folder = dict(sys.modules), dict(os.environ), os.getcwd()
    try:
        if options.get("env") is not None:
            os.environ.clear()
            os.environ.update({os.fsdecode(k): os.fsdecode(v) for k, v in options["env"].items()})
        if options.get("cwd") is not None:
            os.chdir(options["cwd"])
        for name in list(sys.modules):
            if not imports.is_runtime(name):
                del sys.modules[name]
        sys.meta_path[:] = [finder for finder in sys.meta_path if imports.is_runtime(type(finder).__module__)]
        sys.path[:] = imports.wheels()
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(stream, encoding="utf-8", errors=errors, write_through=True)
            for stream, errors in (
                (io.BytesIO(data), "strict"),
                (Keep(out), "strict"),
                (Keep(err), "backslashreplace"),
            )
        )
        with warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
            for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.simplefilter("ignore", kind, append=True)
            yield dict(os.environ)
    finally:
        for name, value in kept.items():
            setattr(sys, name, value)
        for name, value in lists.items():
            getattr(sys, name)[:] = value
        sys.modules.clear()
        sys.modules.update(modules)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)


class Keep(io.RawIOBase):
    """Writes into a buffer that outlives it."""

    def __init__(self, target: io.BytesIO) -> None:
        self._target = target

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any) -> int:
        """Append the bytes."""
        return self._target.write(data)


def install() -> None:
    """Replace `subprocess.Popen`, on which everything else there is built."""
    subprocess.Popen = Popen
