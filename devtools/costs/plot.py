# SPDX-License-Identifier: Apache-2.0
"""A line plot as SVG: time against the size of a frame, on a logarithmic axis of time.

Its colours are readable on light and dark pages.
"""

import io
import math
from collections.abc import Mapping, Sequence

_GREY = "#6e7781"
_STYLES = (("#0969da", "-"), (_GREY, "--"), ("#bc4c00", "-"))


def plot(title: str, sizes: Sequence[str], curves: Mapping[str, Sequence[float]]) -> str:
    """The picture as text.

    Args:
        title: the title above the plot.
        sizes: "1920x1080" and so on: the horizontal axis is the number of pixels.
        curves: microseconds for each size, by their labels, three at most.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # By the square root, the side of a picture, so that small sizes stay apart.
    places = [math.sqrt(math.prod(map(int, size.split("x")))) for size in sizes]
    settings = {"svg.fonttype": "none", "svg.hashsalt": title, "text.color": _GREY}
    settings |= {f"{axis}tick.color": _GREY for axis in "xy"} | {"axes.labelcolor": _GREY}
    with mpl.rc_context(settings):
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.set_title(title)
        for (label, values), (colour, line) in zip(curves.items(), _STYLES, strict=False):
            axes.plot(places, values, line, color=colour, marker="o", label=label)
        axes.set_yscale("log")
        axes.set_ylabel("microseconds")
        axes.set_xticks(places, sizes, rotation=30, ha="right")
        axes.grid(visible=True, axis="y", color=_GREY, alpha=0.35)
        axes.spines[:].set_visible(False)
        axes.legend(frameon=False)
        written = io.StringIO()
        figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    return written.getvalue()
