"""`ThreadPoolExecutor` with one worker that runs each task inside `submit()`.

Invariants: the worker keeps its identity and thread-local data from task to task, and its initializer runs
once; a task submitted from within a task waits until that one ends, as in a pool with one free worker.
Absent: a second worker. Process pools stay unsupported by the interpreter itself.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import _base
from typing import Any

from .ledger import note
from .threads import new_ident, run_as, waiting_thread


class Worker:
    """The one worker of a pool."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool
        self.busy = False
        self.context = pool._create_worker_context()
        self.ready = False
        self.ident = new_ident()
        self.thread = waiting_thread("%s_0" % (pool._thread_name_prefix or pool), self.ident)
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
                _base.LOGGER.critical("Exception in initializer:", exc_info=True)
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


def run_queued(pool: Any) -> None:
    """Let the pool's worker run what is queued."""
    note("executor")
    if not hasattr(pool, "_probity_worker"):
        pool._probity_worker = Worker(pool)
    pool._probity_worker.drain()


def install() -> None:
    """Replace the step of `submit` that starts workers.

    An interpreter without such pools gets them from `modules/`, where that step is this one from the start.
    """
    try:
        from concurrent.futures import thread
    except ImportError:
        return
    thread.ThreadPoolExecutor._adjust_thread_count = run_queued
