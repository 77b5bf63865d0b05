"""Episodes as text, pictures or films: the domain next to the machine's state and stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.pictures import Pixels, draw_state, draw_text, list_stack
from pdrm.machines.guards import label_text
from pdrm.machines.transitions import number_text
from pdrm.wording import plural

if TYPE_CHECKING:
    from pdrm.learning.evaluation import Episode, Moment

MAX_PICTURES = 100
"""Maximum number of pictures in a notebook."""
COLOURS = 64
"""Colours of a picture in a notebook."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Replay:
    """An episode of a trained agent. `print` writes all its moments, and a notebook shows pictures.

    >>> from pdrm.learning.run import train
    >>> replay = train("maze-5x5", "cprm", episodes=1_000).replay()
    >>> replay
    <Replay of maze-5x5: 10 steps, return 100005, ended in home>
    >>> print(replay.screens[1])
    #x###    step 1 of 10   d
    #@..#    label  {d}
    #.###    state  search
    #..t#    reward 0   total 0
    #####    stack
               | d |
               | # |
    """

    domain: FiniteDomain
    """The domain of the episode."""
    episode: Episode
    """The start, and a moment for each step."""
    counts: bool = False
    """True for a counting automaton, which has counters instead of a stack."""

    def __repr__(self) -> str:
        how = "truncated" if self.episode.truncated else "ended"
        length = describe_length(self.episode.facts())
        return f"<Replay of {self.domain.name}: {length}, {how} in {self.end}>"

    def __str__(self) -> str:
        return "\n\n".join(self.screens)

    def _repr_html_(self) -> str:
        """A slider over the pictures, and all moments as text that can be folded out.

        It needs no running kernel. Without JavaScript only the first picture is shown.
        """
        from pdrm.drawing.markup import html, listing, slides
        from pdrm.drawing.render import encode_png

        every = 1 + self.episode.steps // MAX_PICTURES
        pictures = [encode_png(picture, COLOURS) for picture in self.pictures(every)]
        shown = slides(pictures, "png", f"moments of {self.domain.name}")
        screens = listing(str(self))
        text = html("details", html("summary", "every step as text"), screens)
        return str(html("p", repr(self).strip("<>")) + shown + text)

    @property
    def end(self) -> str:
        """The machine's last state."""
        return self.episode.end

    @property
    def screens(self) -> list[str]:
        """All moments as text: the grid, and next to it the machine's state and stack."""
        screens = []
        for moment, right, memory in self._scenes():
            if self.counts:
                right += ["counters", *(f"  {counter}" for counter in memory)]
            else:
                right += list_stack(memory)
            left = draw_text(self.domain, moment.state).split("\n")
            width = max(map(len, left)) + 4
            rows = zip_longest(left, right, fillvalue="")
            screens.append("\n".join(f"{grid:<{width}}{note}".rstrip() for grid, note in rows))
        return screens

    def pictures(self, every: int = 1) -> list[Pixels]:
        """Pictures of the first moment, one every n steps, and the last."""
        last = self.episode.steps
        return [
            draw_state(self.domain, moment.state, lines, memory)
            for number, (moment, lines, memory) in enumerate(self._scenes())
            if number % every == 0 or number == last
        ]

    def _scenes(self) -> Iterator[tuple[Moment, list[str], Sequence[str]]]:
        """All moments, each with lines of text about it, and its stack or counters."""
        total = 0.0
        moments = self.episode.moments
        has_env_rewards = any(moment.environment_reward for moment in moments)
        for number, moment in enumerate(moments):
            total += moment.reward
            action = "" if moment.action is None else self.domain.actions[moment.action]
            label = "none" if moment.label is None else label_text(moment.label)
            lines = [f"step {number} of {self.episode.steps}   {action}".rstrip()]
            if moment.option is not None:
                lines.append(f"option {moment.option or 'any'}")
            lines += [f"label  {label}", f"state  {moment.configuration.state}"]
            lines.append(f"reward {moment.reward:.12g}   total {total:g}")
            if has_env_rewards:
                machine = moment.machine_reward
                environment = moment.environment_reward
                lines.append(f"  machine {machine:.12g}   environment {environment:.12g}")
            memory = moment.configuration.stack
            if self.counts:
                memory = tuple(f"{counter}: {value}" for counter, value in enumerate(memory, 1))
            yield moment, lines, memory


def describe_length(facts: Mapping[str, Any]) -> str:
    """The steps and the return of an episode."""
    episode_return = number_text(round(facts["return"], 9))
    return f"{plural(facts['steps'], 'step')}, return {episode_return}"


class Film(dict[str, Any]):
    """The summary of a filmed episode: a dictionary. A notebook shows the film.

    >>> Film({"return": 1.0, "steps": 9, "end": "home"}, Path("film.gif"))
    {'return': 1.0, 'steps': 9, 'end': 'home'}
    """

    def __init__(self, facts: Mapping[str, Any], path: Path) -> None:
        super().__init__(facts)
        self.path = path
        """The file."""

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import picture

        return picture(self.path.read_bytes(), self.path.suffix[1:], describe_length(self))
