# SPDX-License-Identifier: Apache-2.0
"""The rules that impossible sizes are refused at the call, by the name of the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.edges.context import Context
from ...errors import LayoutError, SamebytesError, UnknownNameError
from .book import BrokenRule, rule

__all__ = ["sizes_of_frames", "sizes_of_tensors"]

_SHAPES: tuple[Any, ...] = (
    (-1, 4), (4, -(2**70)), (2.0, 4), ("2", 4), (True, 4), (None, 4), "24", 4, None, {2, 4},
    (1,) * 65, (2**62, 2**62), (2**70,), (0, 2**62, 2**62),
)  # fmt: skip
_SIZES: tuple[Any, ...] = (
    (0, 4), (4, 0), (-2, 4), (8.0, 4), ("8", 4), (True, True), (None, 4), ([8], 4),
    (2**62, 2**62), (2**80, 4),
)  # fmt: skip


_DO = "TensorInfo(dtype, shape) raises LayoutError and UnknownNameError: make one first"
_MEANS = "a mistake in a size ends in a crash, or in an error that does not name the size"


@rule("5.1", "nonsense is refused by name", means=_MEANS, do=_DO)
def sizes_of_tensors(context: Context) -> None:
    """Ask a context that allocates tensors for impossible sizes.

    Raises:
        BrokenRule: it makes something, or raises an error outside samebytes' tree.
    """
    for shape in _SHAPES:
        what = f"allocate({shape!r})"
        _refused(what, lambda s=shape: context.allocate(s), LayoutError)  # type: ignore[misc]
    _refused(
        'allocate((4, 4), "no_such_type")',
        lambda: context.allocate((4, 4), "no_such_type"),
        UnknownNameError,
    )


@rule(
    "5.2",
    "nonsense sizes of frames are refused by name",
    means=_MEANS,
    do="ImageInfo.of(format, width, height) raises LayoutError and UnknownNameError: make one",
)
def sizes_of_frames(context: Context, format_: str) -> None:
    """Ask a context that allocates frames of that format for impossible sizes.

    Raises:
        BrokenRule: as above.
    """
    for size in _SIZES:
        what = f"allocate_frame({format_!r}, {', '.join(map(repr, size))})"
        _refused(what, lambda s=size: context.allocate_frame(format_, *s), LayoutError)  # type: ignore[misc]
    for name in ("no_such_format", None, [format_]):
        _refused(
            f"allocate_frame({name!r}, 8, 4)",
            lambda n=name: context.allocate_frame(n, 8, 4),  # type: ignore[misc]
            UnknownNameError,
        )


def _refused(what: str, make: Callable[[], object], kind: type[SamebytesError]) -> None:
    try:
        made = make()
    except kind:
        return
    except Exception as error:
        raise BrokenRule(
            f"{what} raised {type(error).__name__} ({error}), not {kind.__name__}"
        ) from error
    raise BrokenRule(f"{what} made {made!r}")
