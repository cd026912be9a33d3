"""Who takes part in a call, and the mailbox they share."""

from __future__ import annotations

import atexit
import hashlib
import time
import weakref
from threading import RLock, Thread

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Store

from .control_store import ControlStore, StoreLostError
from .errors import CheckpointError
from .local_store import LocalStore
from .old_store import OldStore

#: How long, in seconds, the first rank stays at exit for others that still read its last answer.
LINGER_SECONDS = 5.0


class Channel:
    """One group's members and their store. Counts the calls this process has made.

    ``ranks`` are the global ranks of the members in group order; ``index`` is this process's
    place among them. The member at index 0 decides; nobody else is special.
    """

    def __init__(self, store: ControlStore, ranks: tuple[int, ...], index: int) -> None:
        self.store = store
        self.ranks = ranks
        self.index = index
        self.lock = RLock()
        #: The round of calls this process is in. Advances on every rank with each call.
        self.epoch = 0
        #: Calls made by this process; ranks compare it, so that a skipped call shows.
        self.ordinal = 0
        #: Keys of finished calls that may go once everybody has come to the next one.
        self.litter: list[str] = []
        #: Where the members of the last call note that they read its answer, and how many will.
        self.last_left: tuple[ControlStore, str, int] | None = None
        #: The background save in progress; the next call waits for it.
        self.background: Thread | None = None
        #: Why the last background save failed, until a call has raised it on all ranks.
        self.background_error: CheckpointError | None = None
        #: Whether this rank's program has been told of ``background_error`` already.
        self.background_error_seen = False

    @property
    def rank(self) -> int:
        """This process's global rank."""
        return self.ranks[self.index]

    @property
    def world_size(self) -> int:
        """Members of the group."""
        return len(self.ranks)

    @property
    def decides(self) -> bool:
        """Whether this process is the group's first rank."""
        return self.index == 0

    def await_background(self) -> None:
        """Wait for the background save, which its own timeouts bound."""
        if self.background is not None:
            self.background.join()
            self.background = None

    def linger(self) -> None:
        """Wait until the others have read the last answer, if this process may host the store."""
        if self.last_left is None or not self.decides or self.world_size == 1:
            return
        store, key, expected = self.last_left
        deadline = time.monotonic() + LINGER_SECONDS
        try:
            while store.count(key, 0) < expected and time.monotonic() < deadline:
                time.sleep(0.01)
        except StoreLostError:
            return


_channels: weakref.WeakKeyDictionary[dist.ProcessGroup, Channel] = weakref.WeakKeyDictionary()
_opened: dict[str, int] = {}
_alone: Channel | None = None


def open_channel(group: dist.ProcessGroup | None = None) -> Channel:
    """The channel of ``group`` (None: the default group; no process group at all: one process).

    Raises CheckpointError when this process is not a member of ``group``.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return _channel_of_one()
    if group is None:
        group = dist.distributed_c10d._get_default_group()
    # The handle that new_group() gives to others is a bare number or object.
    if not isinstance(group, dist.ProcessGroup):
        raise CheckpointError(
            f"global rank {dist.get_rank()} is not a member of the group given: only members may "
            "call; test for membership around the call"
        )
    channel = _channels.get(group)
    if channel is None:
        channel = _channels[group] = _open(group)
        atexit.register(channel.linger)
    return channel


def _open(group: dist.ProcessGroup) -> Channel:
    ranks = tuple(dist.get_process_group_ranks(group))
    # The group of all goes by its name alone, so that ranks which were started with different
    # world sizes meet and hear of it.
    members = () if group is dist.distributed_c10d._get_default_group() else ranks
    digest = hashlib.sha256(repr((members, group.group_name)).encode()).hexdigest()[:16]
    # A job may destroy its process groups and start new ones on the same store: the keys of the
    # former generation must not answer for this one.
    generation = _opened[digest] = _opened.get(digest, 0) + 1
    # By the package's name: a copy of it under another name in the same job is another channel.
    mine = ControlStore(_store_for(len(ranks)), f"{__package__}/{digest}/{generation}")
    return Channel(mine, ranks, dist.get_rank(group))


def _store_for(members: int) -> Store | LocalStore | OldStore:
    if members == 1:
        return LocalStore()
    store: Store = dist.distributed_c10d._get_default_store()
    # torch's version is a string that compares as a version, not letter by letter.
    return OldStore(store) if torch.__version__ < "2.4" else store


def _channel_of_one() -> Channel:
    global _alone
    if _alone is None:
        _alone = Channel(ControlStore(LocalStore(), "alone"), (0,), 0)
    return _alone
