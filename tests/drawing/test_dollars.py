"""A `$` in a name is drawn as it is: matplotlib would take it for a formula."""

from matplotlib.figure import Figure

from pdrm.drawing.plots import plot_bytes


def test_a_name_is_no_formula():
    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 10], [1, 100], label="$x^{")
    axes.set_title("a $ and $\\nothing")
    axes.set_ylabel("$_")
    axes.legend()
    drawn = plot_bytes(figure, "svg").decode()
    assert "$x^{" in drawn
