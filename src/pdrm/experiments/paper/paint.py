"""The figure of Appendix C: PaintWorld, five agents that see one to five symbols."""

from pdrm.experiments.study import Line, Panel, Study

_SEEN = tuple(
    Line(name="pdRM" if k == 5 else f"{k}-pdRM", agent="q", k=str(k), colour=f"{k}-pdRM", seconds=0.1)
    for k in range(1, 6)
)

PAINT = Study(
    name="paint",
    title="PaintWorld",
    panels=(
        Panel(
            name="paint",
            domain="paint",
            title="PaintWorld",
            figure="Appendix C",
            success=("clean",),
            lines=(*_SEEN, Line(name="0-pdRM (ours)", agent="q", k="0", ours=True, seconds=0.1)),
        ),
    ),
)
