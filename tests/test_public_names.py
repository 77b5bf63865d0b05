"""Every public name has a docstring with an example, which the tests of the package run."""

import doctest

import pytest

import pdrm


@pytest.mark.parametrize("name", pdrm.__all__)
def test_it_has_a_docstring_with_an_example(name):
    thing = getattr(pdrm, name)
    assert thing.__doc__
    assert thing.__module__.startswith("pdrm.")
    assert doctest.DocTestParser().get_examples(thing.__doc__), f"{thing.__module__}.{name} has no example"
