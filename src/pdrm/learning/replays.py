"""An episode to look at: the domain, next to the machine's state and stack, as text or as pictures, moment by moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdrm.domains.pictures import Pixels, draw_state, draw_text, list_stack
from pdrm.machines.guards import label_text
from pdrm.machines.transitions import number_text
from pdrm.task import Task

if TYPE_CHECKING:
    from pdrm.learning.evaluation import Moment

MOST_PICTURES, MOST_SCREENS = 100, 1_000
"""Pictures, and moments as text, that a notebook is given."""
COLOURS = 64
"""Of each of these pictures."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Replay:
    """An episode of a trained agent. `print` writes every moment of it, a notebook shows them.

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

    task: Task
    """Its task."""
    moments: Sequence[Moment]
    """The beginning, then one for each step."""
    counts: bool = False
    """True for a counting automaton: counters are shown instead of a stack."""

    def __repr__(self) -> str:
        steps = len(self) - 1
        said = f"{steps} step{'s' * (steps != 1)}, return {number_text(round(self.reward, 9))}, {self.describe_end()}"
        return f"<Replay of {self.task.name}: {said}>"

    def __str__(self) -> str:
        return "\n\n".join(self.screens)

    def _repr_html_(self) -> str:
        """One picture at a time, chosen with a slider, and every moment as text in a fold; it needs no kernel. If scripts do not
        run, the first picture and the fold are left."""
        from pdrm.drawing.markup import html, listing, slides
        from pdrm.drawing.render import encode_png

        every = -(-len(self) // MOST_PICTURES)
        said = repr(self).strip("<>")
        if every > 1:
            said += f" (a picture every {every} steps)"
        screens = self.screens[:MOST_SCREENS]
        if len(self) > MOST_SCREENS:
            screens.append(f"… {len(self) - MOST_SCREENS:,} more: print the replay")
        pictures = [encode_png(one, COLOURS) for one in self.pictures(every)]
        shown = slides(pictures, "png", f"moments of {self.task.name}")
        text = html("details", html("summary", "every step as text"), listing("\n\n".join(screens)))
        return str(html("p", said) + shown + text)

    def __len__(self) -> int:
        return len(self.moments)

    def __iter__(self) -> Iterator[Moment]:
        return iter(self.moments)

    def __getitem__(self, number: int) -> Moment:
        return self.moments[number]

    @property
    def reward(self) -> float:
        """The return."""
        return sum(moment.reward for moment in self.moments)

    @property
    def end(self) -> str:
        """The machine's last state."""
        return self.moments[-1].configuration.state

    def describe_end(self) -> str:
        """Describe the end: by the machine or the environment, or by a limit.

        >>> from pdrm.learning.run import train
        >>> train("maze-5x5", "q", episodes=1, test_every=1, step_limit=3).replay().describe_end()
        'truncated in search after 3 steps'
        """
        terminal = self.task.finite.arrays.terminal[self.moments[-1].state]
        if terminal or self.end in self.task.machine.final:
            return f"ended in {self.end}"
        return f"truncated in {self.end} after {len(self) - 1} steps"

    @property
    def screens(self) -> list[str]:
        """Every moment as text: the grid, and to its right the machine's state and stack, top first."""
        screens = []
        for moment, right, memory in self._scenes():
            shown = ["counters", *(f"  {one}" for one in memory)]
            right += shown if self.counts else list_stack(moment.configuration.stack)
            left = draw_text(self.task.finite, moment.state).split("\n")
            width = max(len(line) for line in left) + 4
            lines = (
                f"{one:<{width}}{other}".rstrip()
                for one, other in zip_longest(left, right, fillvalue="")
            )
            screens.append("\n".join(lines))
        return screens

    def pictures(self, every: int = 1) -> list[Pixels]:
        """The first moment, one every n steps, and the last: the domain, next to the machine's state and stack."""
        return [
            draw_state(self.task.finite, moment.state, said, memory)
            for number, (moment, said, memory) in enumerate(self._scenes())
            if number % every == 0 or number == len(self) - 1
        ]

    def _scenes(self) -> Iterator[tuple[Moment, list[str], Sequence[str]]]:
        """Every moment, the lines that describe it, and the stack or the counters."""
        gained = 0.0
        for number, moment in enumerate(self.moments):
            gained += moment.reward
            memory = moment.configuration.stack
            counters = [f"{place}: {value}" for place, value in enumerate(memory, 1)]
            yield moment, self._describe(number, gained), counters if self.counts else memory

    def facts(self) -> dict[str, Any]:
        """The summary: return, steps and the machine's last state."""
        return {"return": self.reward, "steps": len(self) - 1, "end": self.end}

    def _describe(self, number: int, gained: float) -> list[str]:
        """Describe a step, line by line; the environment's reward only if there is one."""
        moment = self.moments[number]
        action = "" if moment.action is None else self.task.finite.actions[moment.action]
        label = "none" if moment.label is None else label_text(moment.label)
        paid, by_machine, by_environment = (
            number_text(float(f"{one:.12g}"))
            for one in (moment.reward, moment.machine_reward, moment.environment_reward)
        )
        both = f"  machine {by_machine}   environment {by_environment}"
        pays = any(one.environment_reward for one in self.moments)
        return [
            f"step {number} of {len(self) - 1}   {action}".rstrip(),
            *([] if moment.option is None else [f"option {moment.option or 'any'}"]),
            f"label  {label}",
            f"state  {moment.configuration.state}",
            f"reward {paid}   total {gained:g}",
            *([both] if pays else []),
        ]


class Film(dict[str, Any]):
    """The summary of a filmed episode: a dictionary, which shows the film in a notebook.

    >>> Film({"return": 1.0, "steps": 9, "end": "home"}, Path("film.gif"))
    <Film film.gif: 9 steps, return 1, the machine in home>
    """

    def __init__(self, went: Mapping[str, Any], path: Path) -> None:
        super().__init__(went)
        self.path = path
        """The file."""

    def __repr__(self) -> str:
        steps, paid = self["steps"], number_text(round(self["return"], 9))
        return f"<Film {self.path}: {steps} step{'s' * (steps != 1)}, return {paid}, the machine in {self['end']}>"

    def _repr_html_(self) -> str | None:
        from pdrm.drawing.markup import picture

        if not self.path.exists():
            return None
        return picture(self.path.read_bytes(), self.path.suffix[1:], repr(self).strip("<>"))
