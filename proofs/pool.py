"""Checks in parallel: one process a core, each with one thread; who is served next is for `Shares` to say."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from multiprocessing.connection import wait

from proofs.checked import Checked
from proofs.lane import Lane
from proofs.shares import Shares

TICK = 1.0
"""Seconds between two looks at whether a check is overdue."""


def outcomes(shares: Shares, workers: int, deadline: float, environment: Mapping[str, str]) -> Generator[Checked]:
    """The outcomes of checks as they come, until no proof needs more or the time is up; those under way are awaited."""
    lanes: list[Lane] = []
    try:
        lanes.extend(Lane(environment) for _ in range(workers))
        while _busy(lanes, shares, deadline):
            ready = wait([lane.connection for lane in lanes if lane.task], TICK)
            for lane in lanes:
                if lane.task and (lane.connection in ready or lane.overdue):
                    outcome = lane.answer()
                    if outcome is not None:
                        shares.returned(outcome.name, outcome.seconds)
                        yield outcome
    finally:
        for lane in lanes:
            lane.stop()


def _busy(lanes: list[Lane], shares: Shares, deadline: float) -> bool:
    """Give every idle process a check, if there is one to give; whether any is at work."""
    for lane in lanes:
        if lane.task is None:
            following = shares.next(deadline - time.monotonic())
            if following is not None:
                lane.give(*following)
    return any(lane.task for lane in lanes)
