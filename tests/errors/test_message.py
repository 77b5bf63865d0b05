"""Errors can be pickled: workers raise them, and the command reports them."""

import copy
import pickle

from pdrm.errors import BadSetting, PdrmError, SeveralErrors, Where, explanations
from pdrm.task_warnings import WARNINGS

EVERY = (PdrmError, *PdrmError.__subclasses__(), *BadSetting.__subclasses__())
KINDS = [kind for kind in EVERY if kind is not SeveralErrors]
PARTS = ("message", "where", "fix", "word")


def sent(error):
    """The error after pickling."""
    return pickle.loads(pickle.dumps(error))


def parts(error):
    return [getattr(error, part) for part in PARTS]


def test_every_error_has_its_own_code_and_an_explanation():
    codes = [kind.code for kind in EVERY]
    assert len(set(codes)) == len(codes) > 50
    assert set(explanations()) == {*codes[1:], *WARNINGS}
    assert all(title and text for title, text in explanations().values())
    assert all(not kind.__subclasses__() for kind in KINDS[1:] if kind is not BadSetting)


def test_an_error_can_be_pickled_and_copied():
    for kind in KINDS:
        for make_again in (sent, copy.copy, copy.deepcopy):
            error = kind("what", where=Where("t.pdrm", 2, 4, "u0 => u1", 2), fix="do", word="w")
            other = make_again(error)
            assert type(other) is kind
            assert parts(other) == parts(error)
            assert str(other) == str(error)
            assert other.errors == (other,)
            assert str(kind(error)) == str(error), (
                "raised again, as Gymnasium's vector environments do"
            )


def test_several_errors_can_be_pickled_and_copied():
    faults = [KINDS[1]("one", where=Where("f", 1, 1)), KINDS[2]("two", fix="do", word="w")]
    error = SeveralErrors(faults)
    for make_again in (sent, copy.copy, copy.deepcopy):
        other = make_again(error)
        assert type(other) is SeveralErrors
        assert [parts(fault) for fault in other.errors] == [parts(fault) for fault in faults]
        assert (parts(other), str(other)) == (parts(error), str(error))


def test_several_errors_can_be_reraised():
    several = SeveralErrors([BadSetting("one", fix="do"), BadSetting("other")])
    assert str(SeveralErrors(several)) == str(several)
