"""One guarded call: every rank comes, agrees, works phase by phase, leaves with one answer."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .channel import Channel
from .control_store import ControlStore, StoreLostError
from .rounds import ALARM, Conclude, Round
from .verdicts import compare, disagreement, error_of, store_lost
from .where import caller, describe_failure

Json = Any


@dataclass(frozen=True)
class PhaseTiming:
    """Seconds that the slowest rank worked in one phase, and which global rank that was."""

    phase: str
    seconds: float
    slowest_rank: int


class AbandonedError(Exception):
    """The other ranks have given this call up; what is left of the work must not be published."""


class Call:
    """One call of ``kind`` on ``channel``; ``timeout`` and ``work_timeout`` are seconds.

    ``timeout`` bounds the wait for ranks that have nothing to do but come; ``work_timeout`` the
    wait for ranks that collect or write state.
    """

    def __init__(self, channel: Channel, kind: str, timeout: float, work_timeout: float) -> None:
        self.channel = channel
        self.kind = kind
        #: How messages name the call; may be made more exact once the ranks agree.
        self.title = kind
        self.timeout = timeout
        self.work_timeout = work_timeout
        #: Made by the first rank for this call, the same on all.
        self.nonce = ""
        self.where = caller()
        self.started = time.monotonic()
        self.timings: list[PhaseTiming] = []
        self._facts: dict[str, Json] = {}
        self._store: ControlStore = channel.store
        self._epoch = channel.epoch
        self._round: Round | None = None

    def enter(self, facts: Mapping[str, Json]) -> None:
        """Check in, and agree on ``facts`` (name -> JSON value) before anything else happens.

        Raises MissingRanksError or RanksDisagreeError, on every rank that came.
        """
        channel = self.channel
        channel.await_background()
        channel.ordinal += 1
        self._facts = {
            "operation": self.kind,
            "call": channel.ordinal,
            "world size": channel.world_size,
            **facts,
        }
        try:
            self._join_epoch()
        except StoreLostError as error:
            raise store_lost(self.title, "enter", channel.ranks[0], error) from error
        untold = channel.background_error is not None and not channel.background_error_seen
        report = {"facts": self._facts, "untold": untold}
        answer = self._run("enter", lambda: report, self._admit, self.timeout)
        channel.ordinal = answer["calls"]
        earlier, channel.background_error = channel.background_error, None
        if answer["untold"] and earlier is not None:
            self.leave()
            raise earlier
        if answer["differing"]:
            self.leave()
            raise disagreement(self.kind, answer["differing"])
        self.nonce = answer["nonce"]
        self._drop_litter()

    def phase(
        self,
        name: str,
        work: Callable[[], Json] = lambda: None,
        conclude: Conclude = lambda _reports: None,
        *,
        timeout: float | None = None,
    ) -> Json:
        """Run ``work`` here, gather what every rank's returned, and return ``conclude`` of it.

        ``conclude`` runs on the first rank only, with the reports in group order, when no rank
        failed. Whatever either raises, on whichever rank, becomes RankFailedError on all of them;
        a rank that goes silent becomes MissingRanksError.
        """
        limit = self.work_timeout if timeout is None else timeout
        return self._run(name, work, conclude, limit)

    def check_wanted(self) -> None:
        """Raise AbandonedError if the others gave up the present phase, or a rank was stopped.

        Called right before a change that cannot be taken back.
        """
        if self._round is not None and self._round.verdict() is not None:
            raise AbandonedError("the other ranks have given up waiting for this one")
        alarm = self._store.peek(ALARM)
        if alarm is not None:
            raise AbandonedError(f"rank {alarm['rank']} was stopped: {alarm['error']}")

    def mail(self, name: str, index: int, value: Json) -> None:
        """First rank, in a conclusion: leave ``value`` for the member at ``index`` alone.

        For what differs per rank: put into the answer, each rank would read everybody's.
        """
        self._store.post(f"mail/{name}/{index}", value)

    def read_mail(self, name: str) -> Json:
        """What the first rank left for this one, once the phase has its answer."""
        key = f"mail/{name}/{self.channel.index}"
        value = self._store.peek(key)
        self._store.drop(key)
        return value

    def leave(self, absent: int = 0) -> None:
        """Note that this rank has read its last answer; ``absent`` ranks will never do so."""
        self._store.count("left")
        self.channel.last_left = (self._store, "left", self.channel.world_size - absent)

    def _run(self, name: str, work: Callable[[], Json], conclude: Conclude, limit: float) -> Json:
        error: BaseException | None = None
        started = time.monotonic()
        try:
            report: dict[str, Json] = {"ok": work()}
        except BaseException as caught:  # a KeyboardInterrupt too must reach the other ranks
            error = caught
            report = {"failure": asdict(describe_failure(self.channel.rank, caught, self.where))}
        report["seconds"] = round(time.monotonic() - started, 6)
        report["where"] = self.where
        self._round = Round(self.channel, self._store, name, limit, self._facts)
        self.channel.litter += [f"{self._epoch}/{key}" for key in self._round.litter()]
        try:
            verdict = self._round.run(report, conclude)
        except StoreLostError as lost:
            raise store_lost(self.title, name, self.channel.ranks[0], lost) from (error or lost)
        error = error or self._round.error
        self._raise_bad_news(verdict, name, error)
        self.timings.append(
            PhaseTiming(name, verdict["slowest"]["seconds"], verdict["slowest"]["rank"])
        )
        if error is not None:  # stopped when everything was done: the call itself succeeded
            raise error
        return verdict["answer"]

    def _admit(self, reports: list[Json]) -> Json:
        return {
            "nonce": uuid.uuid4().hex,
            "calls": max(report["facts"]["call"] for report in reports),
            # A background save fails on all ranks alike, but a program may have asked for its
            # result on one of them only: all raise it now unless all have seen it.
            "untold": any(report["untold"] for report in reports),
            "differing": compare(self.channel.ranks, [report["facts"] for report in reports]),
        }

    def _join_epoch(self) -> None:
        """Find the round of calls the others are in, and take this rank's place in it.

        A round that already has a verdict was given up without this rank. If it was this very
        call, this rank is too late and says so at once; otherwise it is a call that this rank
        never made, and its place is in a later one.
        """
        channel = self.channel
        while True:
            self._epoch = channel.epoch
            self._store = channel.store.below(str(self._epoch))
            channel.epoch += 1
            verdict = self._store.peek("enter/verdict")
            if verdict is None:
                return
            theirs = {**verdict["context"], "call": self._facts["call"]}
            if theirs == self._facts:
                self._raise_bad_news(verdict, "enter", None)

    def _raise_bad_news(
        self, verdict: dict[str, Json], phase: str, cause: BaseException | None
    ) -> None:
        error = error_of(verdict, self.title, phase)
        if error is not None:
            try:
                self.leave(absent=len(verdict.get("missing", ())))
            except StoreLostError:
                cause = cause or error
            raise error from (None if cause is error else cause)

    def _drop_litter(self) -> None:
        """Everybody has come to this call, so nobody reads the keys of earlier ones any more."""
        channel, now = self.channel, f"{self._epoch}/"
        for key in channel.litter:
            if not key.startswith(now):
                channel.store.drop(key)
        channel.litter = [key for key in channel.litter if key.startswith(now)]
        if channel.decides:
            channel.litter += [f"{now}{ALARM}", f"{now}left"]
