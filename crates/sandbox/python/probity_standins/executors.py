"""`ThreadPoolExecutor` with one worker that runs each task inside `submit()`.

Invariants: the worker keeps its identity and thread-local data from task to task, and its initializer runs
once; a task submitted from within a task waits until that one ends, as in a pool with one free worker.
Absent: a second worker. Process pools stay unsupported by the interpreter itself.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import thread as pools
from typing import Any

from .ledger import note
from .threads import Handle, new_ident, run_as


class Worker:
    """The one worker of a pool."""

    def __init__(self, pool: pools.ThreadPoolExecutor) -> None:
        self.pool = pool
        self.busy = False
        self.context = pool._create_worker_context()
        self.ready = False
        self.thread = threading.Thread(name="%s_0" % (pool._thread_name_prefix or pool), target=None)
        self.ident = self.thread._ident = new_ident()
        self.thread._os_thread_handle = WorkerHandle(self.ident)
        self.thread._started.set()
        pool._threads.add(self.thread)

    def drain(self) -> None:
        """Run what is queued, as the worker's thread, unless it is the worker that asks."""
        if not self.busy:
            self.busy = True
            threading._active[self.ident] = self.thread
            try:
                run_as(self.ident, self._run_queued)
            finally:
                self.busy = False

    def _run_queued(self) -> None:
        if not self.ready:
            try:
                self.context.initialize()
            except BaseException:
                pools._base.LOGGER.critical("Exception in initializer:", exc_info=True)
                self.pool._initializer_failed()
                return
            self.ready = True
        while True:
            try:
                item = self.pool._work_queue.get_nowait()
            except queue.Empty:
                return
            if item is not None:
                item.run(self.context)


class WorkerHandle(Handle):
    """A worker that waits for work until somebody joins it."""

    def __init__(self, ident: int) -> None:
        super().__init__()
        self.ident = ident

    def join(self, timeout: float | None = -1, /) -> None:
        """End the worker."""
        self._done = True
        threading._active.pop(self.ident, None)


def _adjust_thread_count(self: Any) -> None:
    note("executor")
    if not hasattr(self, "_probity_worker"):
        self._probity_worker = Worker(self)
    self._probity_worker.drain()


def install() -> None:
    """Replace the step of `submit` that starts workers."""
    pools.ThreadPoolExecutor._adjust_thread_count = _adjust_thread_count
