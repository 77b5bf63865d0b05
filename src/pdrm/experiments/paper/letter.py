"""Figure 2: LetterEnv, six agents."""

from pdrm.experiments.study import Line, Panel, Study

AS_PRINTED = {"counterfactuals": "exhaustive"}

LETTER = Study(
    name="letter",
    title="LetterEnv",
    panels=(
        Panel(
            name="letter",
            domain="letter",
            title="LetterEnv",
            figure="Figure 2",
            success=("u2",),
            lines=(
                Line(name="pdRM", agent="q", k="full", seconds=0.1),
                Line(name="1-pdRM", agent="q", k="1", seconds=0.1),
                Line(name="CpRM", agent="cprm", k="full", settings=AS_PRINTED, seconds=0.1),
                Line(name="1-CpRM", agent="cprm", k="1", settings=AS_PRINTED, seconds=0.1),
                Line(name="Q-CRA", agent="cra-q", k="full", seconds=0.1),
                Line(name="CQL-CRA", agent="cra-cql", k="full", seconds=0.1),
                Line(name="0-pdRM (ours)", agent="q", k="0", ours=True, seconds=0.1),
                Line(name="1-CpRM, deduplicated (ours)", agent="cprm", k="1", ours=True, seconds=0.1),
                Line(
                    name="CpRM, co-observed (ours)",
                    agent="cprm",
                    k="full",
                    settings={"counterfactuals": "co-observed"},
                    ours=True,
                    seconds=0.1,
                ),
            ),
        ),
    ),
)
