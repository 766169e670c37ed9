"""Processes that have the GPU: they may die and hang, and are started again."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, Literal

from fuzz.kernels.comparing import Finding, compare, cut
from fuzz.kernels.device import Device

#: A kernel that takes a GPU longer than this hangs, its compilation included.
_PATIENCE = 20.0
How = Literal["done", "died", "hung"]


def _work(pipe: Connection) -> None:
    """("compare", answer) or ("cut", finding, seconds) in, a finding, None or a text out."""
    device = Device()
    pipe.send(("ready", device.name))
    while True:
        task = pipe.recv()
        result: Any = compare(device, task[1]) if task[0] == "compare" else cut(device, task[1], task[2])
        pipe.send(("done", result))
        if isinstance(result, Finding) and result.kind == "fault":
            # The device's context is lost with the launch.
            os._exit(0)


class _Worker:
    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._start()

    def _start(self) -> None:
        self.pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.task: Any = None
        self.ready = False
        self.since = time.monotonic()

    def give(self, task: Any) -> None:
        self.task, self.since = task, time.monotonic()
        self.pipe.send(task)

    def overdue(self) -> bool:
        longer = self.task[2] if self.task and self.task[0] == "cut" else 0
        return time.monotonic() - self.since > _PATIENCE + longer

    def stop(self) -> None:
        self._process.kill()
        self._process.join()

    def restart(self) -> None:
        self.stop()
        self._start()


def spread(tasks: list[Any], workers: int, seconds: float) -> Iterator[tuple[Any, How, Any]]:
    """Every task with its result, in no order, for at most so many seconds; a task is None where a process could
    not even start."""
    team = [_Worker() for _ in range(workers)]
    left = list(reversed(tasks))
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            for worker in team:
                if worker.ready and worker.task is None and left:
                    worker.give(left.pop())
            busy = [worker for worker in team if worker.task is not None or (left and not worker.ready)]
            if not busy:
                return
            for connection in wait([worker.pipe for worker in busy], timeout=0.5):
                yield from _heard(next(worker for worker in busy if worker.pipe is connection))
            for worker in busy:
                if worker.overdue():
                    yield worker.task, "hung", None
                    worker.restart()
    finally:
        for worker in team:
            worker.stop()


def _heard(worker: _Worker) -> Iterator[tuple[Any, How, Any]]:
    try:
        what, value = worker.pipe.recv()
    except (EOFError, OSError):
        yield worker.task, "died", None
        worker.restart()
        return
    if what == "ready":
        worker.ready = True
        return
    task, worker.task = worker.task, None
    if isinstance(value, Finding) and value.kind == "fault":
        worker.restart()
    yield task, "done", value
