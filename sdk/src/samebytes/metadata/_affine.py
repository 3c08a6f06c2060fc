# SPDX-License-Identifier: Apache-2.0
"""AffineTransform: the place in its source that a picture was taken from."""

from __future__ import annotations

import math

from .._frozen import frozen
from ..errors import MetadataError
from ._checks import real, sequence
from ._entry import Entry

__all__ = ["AffineTransform", "Rectangle", "Size"]

Size = tuple[float, float]
"""Width and height."""
Rectangle = tuple[float, float, float, float]
"""x, y, width and height, from the top left."""


@frozen()
class AffineTransform(Entry):
    """The transform from the points of this picture to the points of its source.

    Points are normalised: (0, 0) is the top left corner of a picture, (1, 1) the bottom right one.

    Args:
        matrix: six numbers a b c d e f, two rows of three: the point (x, y) of this picture is
            (a x + b y + c, d x + e y + f) in the source. Without them, the picture is its source.

    Raises:
        MetadataError: not six finite numbers.
    """

    matrix: tuple[float, float, float, float, float, float] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)

    def __post_init__(self) -> None:
        numbers = sequence(self.matrix, self._name("matrix"))
        if len(numbers) != 6:
            raise MetadataError(self._name("matrix"), f"has six numbers, not {len(numbers)}")
        items = enumerate(numbers)
        self._set("matrix", tuple([real(n, f"{self._name('matrix')}[{i}]") for i, n in items]))

    @classmethod
    def of_rectangles(
        cls,
        source: Size,
        target: Size,
        source_rectangle: Rectangle | None = None,
        target_rectangle: Rectangle | None = None,
    ) -> AffineTransform:
        """The transform of a picture into which a rectangle of the source was scaled.

            AffineTransform.of_rectangles((1920, 1080), (640, 640), None, (0, 0, 640, 360))

        Args:
            source, target: size of the source, and of this picture.
            source_rectangle: the part of the source that was taken; by default all of it.
            target_rectangle: the place of that part in this picture; by default all of it.

        Raises:
            MetadataError: a width or height that is not above 0.
        """
        source_width, source_height = _size(source, "source")
        target_width, target_height = _size(target, "target")
        if source_rectangle is None:
            source_rectangle = (0, 0, source_width, source_height)
        if target_rectangle is None:
            target_rectangle = (0, 0, target_width, target_height)
        left, top, width, height = _rectangle(source_rectangle, "source_rectangle")
        to_left, to_top, to_width, to_height = _rectangle(target_rectangle, "target_rectangle")
        x_scale, y_scale = width / to_width, height / to_height
        return cls(
            (
                x_scale * target_width / source_width,
                0.0,
                (left - to_left * x_scale) / source_width,
                0.0,
                y_scale * target_height / source_height,
                (top - to_top * y_scale) / source_height,
            )
        )

    def apply(self, x: float, y: float) -> tuple[float, float]:
        """The point of the source that is shown at (x, y) of this picture.

        Args:
            x: from 0 at the left to 1 at the right.
            y: from 0 at the top to 1 at the bottom.
        """
        a, b, c, d, e, f = self.matrix
        return a * x + b * y + c, d * x + e * y + f

    def bounds(
        self, x_min: float, y_min: float, x_max: float, y_max: float
    ) -> tuple[float, float, float, float]:
        """The box in the source around the contents of a box of this picture.

        Args:
            x_min, y_min, x_max, y_max: normalised, as those of a Detection.

        Returns:
            x_min, y_min, x_max and y_max in the source; for a box that is turned there, those of
            the box around its corners.
        """
        corners = [self.apply(x, y) for x in (x_min, x_max) for y in (y_min, y_max)]
        across, down = zip(*corners, strict=True)
        return min(across), min(down), max(across), max(down)

    def after(self, part: AffineTransform) -> AffineTransform:
        """The transform of a picture that was taken from this one by the transform `part`.

        `whole.after(part).apply(x, y)` is `whole.apply(*part.apply(x, y))`.

        Args:
            part: the transform of the part.
        """
        a, b, c, d, e, f = self.matrix
        g, h, i, j, k, m = part.matrix
        return AffineTransform(
            (
                a * g + b * j,
                a * h + b * k,
                a * i + b * m + c,
                d * g + e * j,
                d * h + e * k,
                d * i + e * m + f,
            )
        )

    def inverse(self) -> AffineTransform:
        """The inverse transform, from the points of the source to the points of this picture.

        Raises:
            MetadataError: the picture shows a line or a point of its source.
        """
        a, b, c, d, e, f = self.matrix
        determinant = a * e - b * d
        if determinant == 0:
            raise MetadataError(self._name("matrix"), f"{self.matrix} has no inverse")
        g, h, j, k = e / determinant, -b / determinant, -d / determinant, a / determinant
        return AffineTransform((g, h, -(g * c + h * f), j, k, -(j * c + k * f)))


def _size(size: Size, field: str) -> tuple[float, float]:
    numbers = [real(n, f"{field}[{i}]") for i, n in enumerate(sequence(size, field))]
    if len(numbers) != 2 or min(numbers) <= 0:
        raise MetadataError(field, f"must be a width and a height above 0, not {size!r}")
    return numbers[0], numbers[1]


def _rectangle(rectangle: Rectangle, field: str) -> tuple[float, float, float, float]:
    numbers = [real(n, f"{field}[{i}]") for i, n in enumerate(sequence(rectangle, field))]
    if len(numbers) != 4 or min(numbers[2:], default=math.nan) <= 0:
        raise MetadataError(
            field, f"must be x, y, and a width and a height above 0, not {rectangle!r}"
        )
    return numbers[0], numbers[1], numbers[2], numbers[3]
