"""``async_save_checkpoint``: the state is copied before return, the rest runs in a thread.

The thread talks over the store only and uses no process group, so it cannot get between the
collectives of the training loop.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import torch.distributed as dist

from .calls import Call
from .channel import Channel, open_channel
from .commit import discard
from .errors import CheckpointError
from .request import Progress, SaveRequest
from .save import begin, collect_state, write_content
from .settings import resolve_timeouts
from .signals import report_sigterm
from .state import State, staged

_log = logging.getLogger("ckptlint_runtime")


class PendingSave:
    """A save that goes on in the background of this process."""

    def __init__(self, channel: Channel, path: Path) -> None:
        self._channel = channel
        self._finished = Event()
        self._error: BaseException | None = None
        #: The final path; a checkpoint stands there once :meth:`result` has returned.
        self.path = path

    def done(self) -> bool:
        """Whether the save has ended, well or not."""
        return self._finished.is_set()

    def result(self, timeout: float | None = None) -> Path:
        """Wait (at most ``timeout`` seconds), then return the path or raise why it failed.

        No call is needed: a failure that a rank has not asked for is raised on all ranks by the
        next call of this package, and ends the process with status 1 if there is none.
        """
        if not self._finished.wait(timeout):
            raise TimeoutError(f"the save of {self.path} still goes on after {timeout} s")
        if self._error is not None:
            self._channel.background_error_seen = True
            raise self._error
        return self.path

    def _end(self, error: BaseException | None) -> None:
        self._error = error
        if error is not None:
            if not isinstance(error, CheckpointError):
                wrapped = CheckpointError(f"the background save of {self.path} broke: {error!r}")
                wrapped.__cause__ = error
                self._error = error = wrapped
            self._channel.background_error = error
            self._channel.background_error_seen = False
            atexit.register(_report_at_exit, self._channel)
            _log.error("the background save of %s failed: %s", self.path, error)
        self._finished.set()


def async_save_checkpoint(
    state: State,
    path: str | os.PathLike[str],
    *,
    step: int | None = None,
    mode: str = "full",
    group: dist.ProcessGroup | None = None,
    timeout: float | None = None,
    work_timeout: float | None = None,
    overwrite: bool = False,
    keep_last: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> PendingSave:
    """Like ``save_checkpoint``, but return as soon as the state is copied to host memory.

    Call it on every rank. The arguments are those of ``save_checkpoint``; engines cannot be given,
    for they cannot be copied. One save runs at a time: the next call of this package waits for it
    first, and raises on all ranks what it failed with. ``progress`` is called in the background.
    """
    request = SaveRequest.of(path, step, mode, overwrite, keep_last, progress)
    channel, limits = open_channel(group), resolve_timeouts(timeout, work_timeout)
    with channel.lock, report_sigterm(channel.linger):
        call = Call(channel, "async_save_checkpoint", limits.enter, limits.work)
        begin(call, request, state, engines=False)
        try:
            tree: dict[str, Any] = {}

            def stage() -> None:
                collected = collect_state(state, mode)
                if mode != "full" or channel.decides:
                    tree.update(staged(collected))

            call.phase("state_dict", stage)
        except BaseException:
            discard(call, request)
            raise
        pending = PendingSave(channel, request.path)
        # Not a daemon: the interpreter waits for it before it exits.
        channel.background = Thread(
            target=_finish, args=(call, request, tree, pending), name="ckptlint-save"
        )
        channel.background.start()
    return pending


def _finish(call: Call, request: SaveRequest, tree: dict[str, Any], pending: PendingSave) -> None:
    try:
        write_content(call, request, tree)
    except BaseException as error:
        discard(call, request)
        pending._end(error)
    else:
        pending._end(None)


def _report_at_exit(channel: Channel) -> None:
    """A checkpoint that silently does not exist is worse than an unusual end of the process."""
    error = channel.background_error
    if error is None or channel.background_error_seen:
        return
    channel.background_error_seen = True
    print("ckptlint_runtime: the last background save failed:", file=sys.stderr)
    traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
    channel.linger()
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
