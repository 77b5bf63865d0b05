"""Figure 4: DeliverWorld-8 (nine agents) and DeliverWorld-4-8 (six agents)."""

from pdrm.experiments.study import Line, Panel, Study

APPROACHES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("pdRM", "q", {}),
    ("CpRM", "cprm", {"counterfactuals": "exhaustive"}),
    ("hierarchical", "hrm", {}),
)


def _name(approach: str, k: str) -> str:
    if approach == "hierarchical":
        return f"hierarchical {'pdRM' if k == 'full' else f'{k}-pdRM'}"
    return approach if k == "full" else f"{k}-{approach}"


def _lines(views: tuple[str, ...]) -> tuple[Line, ...]:
    paper = tuple(
        Line(name=_name(approach, k), agent=agent, k=k, settings=settings)
        for approach, agent, settings in APPROACHES
        for k in views
    )
    none = Line(name="0-pdRM (ours)", agent="q", k="0", ours=True)
    few = Line(name="1-CpRM, deduplicated (ours)", agent="cprm", k="1", ours=True)
    return (*paper, none, few)


DELIVER = Study(
    name="deliver",
    title="DeliverWorld",
    panels=(
        Panel(
            name="deliver-8",
            domain="deliver-8",
            title="DeliverWorld-8",
            figure="Figure 4, left",
            success=("done",),
            lines=_lines(("1", "2", "full")),
        ),
        Panel(
            name="deliver-4-8",
            domain="deliver-4-8",
            title="DeliverWorld-4-8",
            figure="Figure 4, right",
            success=("done",),
            lines=_lines(("1", "2")),
        ),
    ),
)
