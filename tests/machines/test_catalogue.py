"""What the catalogue says of its machines."""

from pdrm.language.loading import catalogue_names, catalogue_summary

SAID = {
    "anbn": "Section 5: a n times, then b n times (n at least 1).",
    "letter-counting": "Appendix A, left: the counting reward automaton of Bester et al. for LetterEnv.",
    "figure-1": "Figure 1: find the treasure t, then retrace the path to the start x.",
    "multiple-treasure-maze": "MultipleTreasureMaze (Appendix E): find the safe place s; bring each treasure t back to it by the same "
    "way; when all are found (T), retrace the way to the start x.",
}


def test_a_machine_is_described_by_its_first_sentence():
    assert {name: catalogue_summary(name) for name in SAID} == SAID


def test_every_machine_is_described_by_a_sentence():
    assert not [
        name
        for name in catalogue_names()
        if not catalogue_summary(name).endswith(".") or "//" in catalogue_summary(name)
    ]
