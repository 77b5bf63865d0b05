"""Claims about WaterWorld (Section 7.5): not run until there are records of its agents."""

from typing import NoReturn

from pdrm.errors import NotRecorded
from pdrm.experiments.claims.claim import Claim
from pdrm.experiments.claims.evidence import Evidence


def _not_recorded(_evidence: Evidence) -> NoReturn:
    raise NotRecorded("no run of WaterWorld is recorded", fix="the tabular figures do not need it")


CLAIMS = (
    Claim(
        "water-17",
        "PPO + 1-pdRM achieves early; recurrent PPO improves, below it and with high variance; plain PPO lower",
        "water",
        _not_recorded,
    ),
    Claim("water-20", "only PPO + 1-pdRM achieves", "water", _not_recorded),
)
