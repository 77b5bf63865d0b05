"""Every error crosses from one process to another whole: workers raise them, the command reports them."""

import copy
import pickle

import pytest

from pdrm import errors
from pdrm.errors import PdrmError, SeveralErrors, Where

KINDS = [kind for kind in (PdrmError, *PdrmError.__subclasses__()) if kind is not SeveralErrors]
PARTS = ("message", "where", "fix", "word")


def sent(error):
    """The error as another process receives it."""
    return pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled here


def parts(error):
    return [getattr(error, part) for part in PARTS]


def test_every_kind_is_there():
    assert {kind.__name__ for kind in KINDS} <= set(errors.__all__)
    assert all(not kind.__subclasses__() for kind in KINDS[1:])
    assert len(KINDS) > 50


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("made_again", [sent, copy.copy, copy.deepcopy])
def test_an_error_is_made_again(kind, made_again):
    error = kind("what", where=Where("t.pdrm", 2, 4, "u0 => u1", 2), fix="do", word="w")
    other = made_again(error)
    assert type(other) is kind
    assert parts(other) == parts(error)
    assert str(other) == str(error)
    assert other.errors == (other,)


@pytest.mark.parametrize("made_again", [sent, copy.copy, copy.deepcopy])
def test_several_errors_are_made_again(made_again):
    faults = [KINDS[1]("one", where=Where("f", 1, 1)), KINDS[2]("two", fix="do", word="w")]
    error = SeveralErrors(faults)
    other = made_again(error)
    assert type(other) is SeveralErrors
    assert [parts(fault) for fault in other.errors] == [parts(fault) for fault in faults]
    assert (parts(other), str(other)) == (parts(error), str(error))
