"""A `$` in a name is drawn as such, not as the start of a formula."""

import numpy as np

from pdrm.drawing.plots import CurveLine, plot_bytes, study_plot


def test_a_name_is_no_formula():
    values = [np.ones(2)] * 3
    at = np.array([1, 10])
    line = CurveLine("$x^{", "a $ and $\\nothing", "$_", at, *values, "return", "a")
    drawn = plot_bytes(study_plot([[line]]), "svg").decode()
    assert "$x^{" in drawn
