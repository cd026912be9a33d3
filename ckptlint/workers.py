"""Doing the same for many things in several processes.

The processes are copies of this one (``fork``), so that what has been read and found out is theirs
without being sent: a thing goes to them as its number, and what comes of it comes back. Where a
system has no such copies, all is done here.
"""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn, TypeVar

from ckptlint.request import ProcessLostError

_T = TypeVar("_T")
_R = TypeVar("_R")
_LENGTH = 8  # bytes that tell how many follow


@dataclass(frozen=True)
class _Worker:
    """A copy of this process, and the ends of the pipes to it and from it."""

    pid: int
    orders: BinaryIO
    results: BinaryIO


def mapped(work: Callable[[_T], _R], things: Sequence[_T], jobs: int) -> list[_R]:
    """Return what ``work`` gives for each thing, in order.

    What it raises is raised here, and ProcessLostError when a process is lost.
    """
    if jobs < 2 or not hasattr(os, "fork") or sys.platform == "darwin":
        return [work(thing) for thing in things]
    workers: list[_Worker] = []
    try:
        for _ in range(jobs):
            workers.append(_started(work, things, workers))
        results = dict(_gathered(workers, len(things)))
    except BaseException:
        for worker in workers:
            os.kill(worker.pid, signal.SIGKILL)
        raise
    finally:
        for worker in workers:
            worker.orders.close()
            worker.results.close()
            os.waitpid(worker.pid, 0)
    return [results[index] for index in range(len(things))]


def _gathered(workers: Sequence[_Worker], count: int) -> Iterator[tuple[int, Any]]:
    """Hand out the numbers below ``count``, one to each worker at a time; yield what comes back.

    Each has a stretch of its own: what stands side by side has much in common, which is found out
    once then. Who is done with his takes the last of the longest.
    Where something goes wrong only what comes before it is handed out still: what goes wrong first
    in order is raised.
    """
    share = -(-count // len(workers))
    stretches = [deque(range(i, min(i + share, count))) for i in range(0, count, share)]
    waiting = {w: stretches[i] if i < len(stretches) else deque() for i, w in enumerate(workers)}
    errors: dict[int, Exception] = {}
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            if _ordered(worker, waiting):
                selector.register(worker.results, selectors.EVENT_READ, worker)
        while selector.get_map():
            for key, _ in selector.select():
                worker = key.data
                index, result, error = _received(worker.results)
                if error is None:
                    yield index, result
                else:
                    errors[index] = error
                    for stretch in stretches:
                        while stretch and stretch[-1] > index:
                            stretch.pop()
                if not _ordered(worker, waiting):
                    selector.unregister(worker.results)
    if errors:
        raise errors[min(errors)]


def _ordered(worker: _Worker, waiting: Mapping[_Worker, deque[int]]) -> bool:
    longest = max(waiting.values(), key=len)
    if not longest:
        return False
    index = waiting[worker].popleft() if waiting[worker] else longest.pop()
    try:
        worker.orders.write(index.to_bytes(_LENGTH, "big"))
    except BrokenPipeError:
        raise ProcessLostError from None
    return True


def _received(pipe: BinaryIO) -> Any:
    length = pipe.read(_LENGTH)
    data = pipe.read(int.from_bytes(length, "big"))
    if len(length) < _LENGTH or len(data) < int.from_bytes(length, "big"):
        raise ProcessLostError
    return pickle.loads(data)


def _started(work: Callable[[_T], _R], things: Sequence[_T], others: Sequence[_Worker]) -> _Worker:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # or a copy of what is buffered is written by the copy too
    read_orders, write_orders = os.pipe()
    read_results, write_results = os.pipe()
    pid = os.fork()
    if not pid:
        for end in (write_orders, read_results):
            os.close(end)
        for other in others:  # whose pipes would not be seen to close
            os.close(other.orders.fileno())
            os.close(other.results.fileno())
        _serve(work, things, os.fdopen(read_orders, "rb"), os.fdopen(write_results, "wb"))
    os.close(read_orders)
    os.close(write_results)
    return _Worker(pid, os.fdopen(write_orders, "wb", buffering=0), os.fdopen(read_results, "rb"))


def _serve(
    work: Callable[[_T], _R], things: Sequence[_T], orders: BinaryIO, results: BinaryIO
) -> NoReturn:
    """Do what is ordered until no more orders come. The copy ends here: nothing of what this
    process has to do at its end is done twice."""
    status = 1
    try:
        while order := orders.read(_LENGTH):
            index = int.from_bytes(order, "big")
            result: _R | None = None
            failure: Exception | None = None
            try:
                result = work(things[index])
            except Exception as error:
                failure = error
            data = pickle.dumps((index, result, failure))
            results.write(len(data).to_bytes(_LENGTH, "big") + data)
            results.flush()
        status = 0
    finally:
        os._exit(status)
