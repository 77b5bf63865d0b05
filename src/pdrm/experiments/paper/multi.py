"""Figure 3, right: MultipleTreasureMaze, two agents on each of two mazes."""

from pdrm.experiments.study import Line, Panel, Study


def _line(name: str, agent: str, k: str, seconds: float, gigabytes: float) -> Line:
    return Line(name=name, agent=agent, k=k, seconds=seconds, gigabytes=gigabytes, ours="ours" in name)


def _panel(size: str, *lines: Line) -> Panel:
    name, title = f"multi-{size}", size.replace("x", "×")
    return Panel(name=name, domain=name, title=title, success=("home",), lines=lines)


MULTI = Study(
    name="multi",
    title="MultipleTreasureMaze",
    figure="Figure 3, right",
    panels=(
        _panel(
            "10x10",
            _line("pdRM", "q", "full", 10, 2.8),
            _line("1-pdRM", "q", "1", 0.2, 0.3),
            _line("0-pdRM (ours)", "q", "0", 18, 4.3),
            _line("1-CpRM, deduplicated (ours)", "cprm", "1", 2, 0.3),
        ),
        _panel(
            "20x20",
            _line("pdRM", "q", "full", 60, 10.8),
            _line("1-pdRM", "q", "1", 0.7, 0.3),
            _line("1-CpRM, deduplicated (ours)", "cprm", "1", 5, 0.4),
        ),
    ),
)
