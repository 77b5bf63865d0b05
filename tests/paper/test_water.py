"""Figure 5: the recordings are complete, documented and used for claims, unless there are own runs."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pdrm.domains.water import WaterWorld
from pdrm.experiments.curves import Curves, Store
from pdrm.experiments.study import run_study
from pdrm.paper.claims import CLAIMS, judge_claims
from pdrm.paper.figures import DEEP, RECURRENT, WITH, WITHOUT, study
from pdrm.paper.judging import Evidence
from pdrm.paper.recorded import FOLDER, known_lines, recorded_curves
from pdrm.paper.report import write_report

DOCS = (Path(__file__).parents[2] / "docs" / "water.md").read_text()
WATER = study("water")
LINES = [(of, panel, line) for of in map(study, DEEP) for panel, line in of.lines()]


def test_every_recording_belongs_to_a_line_and_is_complete():
    """With the current settings of the line. Only `water-scaled` and strict recurrent PPO were not recorded."""
    found = {}
    for of, panel, line in LINES:
        curves = recorded_curves(of, panel, line)
        if curves is None:
            assert of.name == "water-scaled" or (of.name, line.name) == ("water-strict", RECURRENT)
            continue
        agent = panel.agent(line)
        assert (curves.unit, curves.seeds, curves.at[-1]) == (
            "timesteps",
            tuple(range(10)),
            agent.total_timesteps,
        )
        assert (
            curves.returns.shape
            == curves.steps.shape
            == curves.success.shape
            == (10, len(curves.at), 1)
        )
        assert curves.returns.min() >= curves.lowest == 0
        assert curves.returns.max() <= curves.highest == 116_001
        found[of.name, panel.task.name, line.name] = (curves, agent)
    rows = 0
    for path in set(FOLDER.glob("water-*.csv")) - {FOLDER / "water-readings.csv"}:
        about = json.loads(path.with_suffix(".json").read_text())
        table = list(csv.DictReader(path.read_text().splitlines()))
        rows += len(table)
        for domain, line in {(row["domain"], row["line"]) for row in table}:
            curves, agent = found[about["study"], domain, line]
            assert curves.recorded_on == about["device"]
            settings = json.loads(json.dumps(agent.record()))
            assert about["learning_rate"][f"{domain}, {line}"] == settings["learning_rate"]
            assert about["settings"].items() <= settings.items()
    assert rows == sum(curves.returns.size for curves, _ in found.values())


def test_the_docs_show_the_recordings():
    """A table row for each map and agent."""
    for of, panel, line in LINES:
        if (curves := recorded_curves(of, panel, line)) is None:
            continue
        steps, achieved = (
            f"{curves.at[-1] / 1e6:.0f} M",
            f"{100 * curves.final_success.mean():.0f}%",
        )
        length = f"{curves.steps[:, -1].mean():,.0f}"
        cells = (panel.task.name, line.name, steps, f"{curves.final_median:,.0f}", achieved, length)
        assert f"| {' | '.join(cells)} |" in DOCS


AS_THE_PAPER_SAYS = {
    "water-17": {
        WITH: ((0, 110_000, 116_000), 1.0),
        RECURRENT: ((0, 50_000, 90_000), 0.5),
        WITHOUT: ((0, 10_000, 20_000), 0.0),
    },
    "water-20": {
        WITH: ((0, 110_000, 116_000), 1.0),
        RECURRENT: ((0, 9_000, 9_000), 0.0),
        WITHOUT: ((0, 9_000, 9_000), 0.0),
    },
}


def judge_by_hand(told):
    """The verdicts of both rules for three evaluations with these medians, if recurrent PPO varies most on 17 × 17."""
    evidence = Evidence(Path("nowhere"))
    for panel in WATER.panels:
        for line in panel.lines:
            medians, achieved = told[panel.name][line.name]
            off = 1_000.0 if (panel.name, line.name) == ("water-17", RECURRENT) else 10.0
            returns = np.array([[[value + side] for value in medians] for side in (-off, 0.0, off)])
            success = np.zeros_like(returns)
            success[:, -1] = achieved
            evidence._read[panel.name, line.name] = Curves(
                panel,
                line,
                (0, 1, 2),
                "timesteps",
                np.array([0, 100, 200]),
                returns,
                returns,
                success,
                0.0,
                116_001.0,
            )
    claims = [claim for claim in CLAIMS if claim.id in ("water-17", "water-20")]
    return [part for claim in claims for rule in claim.rules for part in rule(evidence)]


def test_claims_hold_for_curves_as_in_the_paper():
    assert all(part.holds for part in judge_by_hand(AS_THE_PAPER_SAYS))


@pytest.mark.parametrize(
    ("panel", "line", "went", "part"),
    [
        ("water-17", WITH, ((0, 110_000, 115_000), 0.9), "achieves water-17"),
        ("water-17", WITH, ((0, 20_000, 116_000), 1.0), "achieves early"),
        ("water-17", RECURRENT, ((89_990, 90_000, 90_000), 0.0), "improves"),
        ("water-17", RECURRENT, ((0, 116_000, 117_000), 1.0), "ends below PPO + 1-pdRM"),
        ("water-17", WITHOUT, ((0, 90_000, 99_000), 0.0), "PPO ends below recurrent PPO"),
        ("water-20", WITH, ((0, 9_000, 9_000), 0.0), "achieves water-20"),
        ("water-20", WITHOUT, ((0, 9_000, 116_000), 1.0), "PPO does not achieve"),
        ("water-20", RECURRENT, ((0, 9_000, 116_000), 1.0), "recurrent PPO does not achieve"),
    ],
)
def test_a_single_different_line_refutes_its_part(panel, line, went, part):
    told = {**AS_THE_PAPER_SAYS, panel: {**AS_THE_PAPER_SAYS[panel], line: went}}
    assert any(part in one.text for one in judge_by_hand(told) if not one.holds)


SHORT = {
    "total_timesteps": 320,
    "test_every": 160,
    "n_envs": 4,
    "n_steps": 40,
    "batch_size": 40,
    "n_epochs": 1,
}


def test_figure_5_runs_like_others_and_own_runs_replace_the_recording(tmp_path):
    panel = WATER.panels[0]
    short = [
        replace(line, settings={**line.settings, **SHORT, "test_episodes": 2})
        for line in panel.lines[:2]
    ]
    panel = replace(panel, domain=WaterWorld(side=17.0, step_limit=60), lines=tuple(short))
    own = replace(WATER, panels=(panel,), seeds=1)
    store = Store.below(tmp_path)
    ((_, before), _) = known_lines([own], store)
    assert before.recorded_on.startswith("NVIDIA")
    outcome = run_study(own, tmp_path, progress=False)
    assert not outcome.failures
    assert [run.name.split("-")[:3] for run in store.root.iterdir()] == [["water", "17", "ppo"]] * 2
    found = known_lines([own], store)
    assert [(curves.recorded_on, curves.at.tolist(), curves.seeds) for _, curves in found] == [
        ("", [160, 320], (0,))
    ] * 2
    whole = replace(
        own,
        panels=(replace(panel, lines=(*short, WATER.panels[0].line(RECURRENT))), WATER.panels[1]),
    )
    evidence = Evidence(tmp_path, studies=(whole,))
    judged = judge_claims(evidence, {"water"})
    assert evidence.has_runs
    device = before.recorded_on
    assert [(one.seeds, one.recorded_on) for one in judged] == [
        ((1, 1), device),
        (None, ""),
        ((10, 1), device),
        ((10, 1), device),
    ]
    assert judged[1].why == "water-17, PPO + 1-pdRM: the run has only 2 evaluations"
    page = write_report(found, judged, evidence, theory=False).read_text()
    part = page[page.index('id="study-water"') :]
    assert (tmp_path / "figures" / "water-17.pdf").exists()
    assert "recorded on" not in part.partition("</section>")[0]
