"""A `$` in a name is drawn as it is: matplotlib would take it for a formula."""

import numpy as np

from pdrm.drawing.plots import CurveLine, plot_bytes, study_plot


def test_a_name_is_no_formula():
    values = np.ones(2)
    line = CurveLine("$x^{", "a $ and $\\nothing", "$_", np.array([1, 10]), values, values, values)
    drawn = plot_bytes(study_plot([[line]]), "svg").decode()
    assert "$x^{" in drawn
