"""`ThreadPoolExecutor` for an interpreter whose library was cut; `executors` runs what is submitted.

Invariants: arguments, errors and messages are those of the real module, as are the names that
`executors.Worker` and tests look at; a future whose task has not run can be cancelled.
Absent: several workers, a limit on idle ones, anything at the interpreter's exit.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import _base
from typing import Any

from probity_standins import executors

_pools = itertools.count()


class BrokenThreadPool(_base.BrokenExecutor):
    """A worker could not be initialized."""


class WorkerContext:
    """What a worker does before its first task, and for each."""

    def __init__(self, initializer: Callable[..., Any] | None, initargs: tuple[Any, ...]) -> None:
        self.initializer, self.initargs = initializer, initargs

    def initialize(self) -> None:
        """Prepare the worker."""
        if self.initializer is not None:
            self.initializer(*self.initargs)


class _WorkItem:
    """A task with its future."""

    def __init__(self, future: _base.Future, task: Callable[[], Any]) -> None:
        self.future, self.task = future, task

    def run(self, context: WorkerContext) -> None:
        """Run the task and settle its future."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.task()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class ThreadPoolExecutor(_base.Executor):
    """As in `concurrent.futures`, with one worker."""

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
    ) -> None:
        if max_workers is None:
            max_workers = min(32, (os.cpu_count() or 1) + 4)
        if max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._max_workers = max_workers
        self._thread_name_prefix = thread_name_prefix or "ThreadPoolExecutor-%d" % next(_pools)
        self._initializer, self._initargs = initializer, initargs
        self._work_queue: Any = queue.SimpleQueue()
        self._threads: set[threading.Thread] = set()
        self._broken = ""
        self._shutdown = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> _base.Future:
        """Run a task, or queue it if it is submitted by one."""
        if self._broken:
            raise BrokenThreadPool(self._broken)
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = _base.Future()
        self._work_queue.put(_WorkItem(future, lambda: fn(*args, **kwargs)))
        self._adjust_thread_count()
        return future

    def _adjust_thread_count(self) -> None:
        executors.run_queued(self)

    def _create_worker_context(self) -> WorkerContext:
        return WorkerContext(self._initializer, self._initargs)

    def _waiting(self) -> list[_WorkItem]:
        """Take everything out of the queue."""
        return [self._work_queue.get_nowait() for _ in range(self._work_queue.qsize())]

    def _initializer_failed(self) -> None:
        self._broken = "A thread initializer failed, the thread pool is not usable anymore"
        for item in self._waiting():
            item.future.set_exception(BrokenThreadPool(self._broken))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks."""
        self._shutdown = True
        if cancel_futures:
            for item in self._waiting():
                item.future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()
