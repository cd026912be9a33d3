"""One round over the store: every rank posts a report, all read the same verdict.

The first rank of the group reads the reports and settles the verdict. A verdict is written once:
the first writer wins. So when the first rank itself is missing, whoever runs out of patience
settles the verdict in its place, and still every rank reads the same one.

No collectives here. While the ranks are in step a rank spends a constant number of store
operations per round; the first rank reads one more value per member.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from .channel import Channel
from .control_store import ControlStore, Pause
from .where import describe_failure

Json = Any
#: Runs on the first rank with what each member reported, by group index; returns the answer.
Conclude = Callable[[list[Json]], Json]

#: Share of the timeout that the other ranks add, so that the first rank settles the verdict first.
_GRACE = 0.2
_SHORTEST_GRACE, _LONGEST_GRACE = 0.3, 30.0

#: Once a rank has failed, the others are waited for this long, in seconds, at most: a rank that
#: is stuck in a collective the failed one never joined will not come before that one has left.
FAILURE_PATIENCE = 10.0

#: Key of a call that holds what stopped a rank; its presence ends the waiting early.
ALARM = "alarm"


class Round:
    """The round of one phase of one call. ``store`` lies below the call's prefix.

    ``context`` (JSON) is put into a verdict that names missing or stopped ranks: what the call
    was, so that a rank that comes too late can tell whether it is the one that was waited for.
    """

    def __init__(
        self, channel: Channel, store: ControlStore, phase: str, timeout: float, context: Json
    ) -> None:
        self.channel = channel
        self.store = store
        self.phase = phase
        self.timeout = timeout
        self.context = context
        self.error: BaseException | None = None
        self._posted = False
        self._own_failure: Json = None
        self._where = "unknown"

    def run(self, report: dict[str, Json], conclude: Conclude) -> dict[str, Json]:
        """Post ``report``, return the verdict. ``error`` then holds what this rank raised in it."""
        self._where = report.get("where", self._where)
        try:
            self._post(report)
            verdict = self._decide(conclude) if self.channel.decides else self._await_verdict()
        except Exception:
            raise
        except BaseException as interrupt:  # KeyboardInterrupt and SIGTERM reach the others too
            self.error = interrupt
            verdict = self._give_up(interrupt)
        return verdict

    def litter(self) -> list[str]:
        """The keys this rank has to drop once nobody can be in the round any more.

        Not before: a rank that is late, or settles the verdict for a missing one, still reads.
        """
        own = [self._report_key(self.channel.index)]
        shared = [self._key("verdict"), self._key("arrived")]
        return own + shared if self.channel.decides else own

    def verdict(self) -> dict[str, Json] | None:
        """The verdict, if somebody settled it already."""
        found: dict[str, Json] | None = self.store.peek(self._key("verdict"))
        return found

    def _post(self, report: dict[str, Json]) -> None:
        self._own_failure = report.get("failure")
        if self._own_failure is not None:
            self.store.post(ALARM, self._own_failure)
        self.store.post(self._report_key(self.channel.index), report)
        self.store.count(self._key("arrived"))
        self._posted = True

    def _decide(self, conclude: Conclude) -> dict[str, Json]:
        members = range(self.channel.world_size)
        pause, deadline = Pause(len(members)), time.monotonic() + self.timeout
        hurried = False
        while self.store.count(self._key("arrived"), 0) < len(members):
            settled = self.verdict()
            if settled is not None:
                return settled
            if not hurried and self.store.has(ALARM):
                hurried, deadline = True, min(deadline, time.monotonic() + self._patience())
            if time.monotonic() > deadline:
                return self._settle(self._failures() if hurried else self._missing())
            pause()
        reports = self.store.read([self._report_key(index) for index in members])
        if self.store.has(ALARM):
            return self._settle(self._failures())
        try:
            answer = conclude([report["ok"] for report in reports])
        except BaseException as error:
            self.error = error
            failure = asdict(describe_failure(self.channel.rank, error, self._where))
            return self._settle({"failures": [failure], "context": self.context})
        seconds, index = max((reports[index].get("seconds", 0.0), -index) for index in members)
        slowest = {"seconds": seconds, "rank": self.channel.ranks[-index]}
        return self._settle({"answer": answer, "slowest": slowest})

    def _await_verdict(self) -> dict[str, Json]:
        pause = Pause(self.channel.world_size)
        failed = self._own_failure is not None
        patience = self._patience() if failed else self.timeout
        grace = min(_LONGEST_GRACE, max(_SHORTEST_GRACE, patience * _GRACE))
        deadline = time.monotonic() + patience + grace
        while True:
            settled = self.verdict()
            if settled is not None:
                return settled
            if time.monotonic() > deadline:
                return self._settle(self._failures() if failed else self._missing())
            pause()

    def _patience(self) -> float:
        return min(self.timeout, FAILURE_PATIENCE)

    def _failures(self) -> dict[str, Json]:
        """What the ranks raised so far. One store operation per member, after a failure only."""
        found: dict[int, Json] = {}
        for index in range(self.channel.world_size):
            report = self.store.peek(self._report_key(index))
            if report is not None and "failure" in report:
                found[report["failure"]["rank"]] = report["failure"]
        alarm = self.store.peek(ALARM)
        if alarm is not None:
            found.setdefault(alarm["rank"], alarm)
        return {"failures": [found[rank] for rank in sorted(found)], "context": self.context}

    def _missing(self) -> dict[str, Json]:
        """Who has not reported. One store operation per member, spent in this case only."""
        ranks = self.channel.ranks
        missing: list[int] = []
        places: dict[str, list[int]] = {}
        for index, rank in enumerate(ranks):
            report = self.store.peek(self._report_key(index))
            if report is None:
                missing.append(rank)
            else:
                places.setdefault(report.get("where", "unknown"), []).append(rank)
        return {
            # All have reported and still there is no verdict: the first rank died deciding.
            "missing": missing or [ranks[0]],
            "places": places,
            "since": time.strftime("%H:%M:%S", time.localtime(time.time() - self.timeout)),
            "seconds": self.timeout,
            "context": self.context,
        }

    def _give_up(self, interrupt: BaseException) -> dict[str, Json]:
        failure = asdict(describe_failure(self.channel.rank, interrupt, self._where))
        if self.channel.decides:
            return self._settle({"failures": [failure], "context": self.context})
        if self._posted:
            self._own_failure = failure
            self.store.post(ALARM, failure)
        else:
            self._post({"failure": failure})
        return self._await_verdict()

    def _settle(self, verdict: dict[str, Json]) -> dict[str, Json]:
        settled: dict[str, Json] = self.store.settle(self._key("verdict"), verdict)
        return settled

    def _key(self, name: str) -> str:
        return f"{self.phase}/{name}"

    def _report_key(self, index: int) -> str:
        return self._key(f"report/{index}")
