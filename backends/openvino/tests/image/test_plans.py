# SPDX-License-Identifier: Apache-2.0
"""Plans for frames of one layout are used for them alone, and kept while such frames come."""

from __future__ import annotations

import numpy as np
import pytest

from samebytes_openvino import image_model

from .pictures import echo, expected, noise


def test_frames_of_one_size_whose_rows_differ() -> None:
    """Padding changes from frame to frame, as where decoded and cropped frames alternate."""
    model = image_model(echo(), noise("I420", 64, 48))
    models = set()
    for number, padding in enumerate((0, 4, 0, 16, 4)):
        frame = noise("I420", 64, 48, padding, seed=number)
        image = np.asarray(model.infer(frame)[0])[0]
        np.testing.assert_allclose(image, expected(frame, (40, 30)), atol=1.1)
        models.add(id(model.compiled))
    assert len(models) == 3


@pytest.mark.parametrize(
    ("key", "values"),
    [("color_matrix", ("smpte170m", "bt709")), ("color_range", ("limited", "full"))],
)
def test_frames_that_differ_in_what_they_say(key: str, values: tuple[str, str]) -> None:
    model = image_model(echo(), noise("I420", 64, 48))
    for value in (*values, *values):
        frame = noise("I420", 64, 48)
        frame.metadata[key] = value
        image = np.asarray(model.infer(frame)[0])[0]
        matrix = "BT.709" if value == "bt709" else "BT.601"
        range_ = "full" if value == "full" else "limited"
        want = expected(frame, (40, 30), matrix=matrix, range_=range_)
        np.testing.assert_allclose(image, want, atol=1.1)


def test_a_layout_in_use_is_not_compiled_again() -> None:
    """Of many layouts those go whose frames came longest ago."""
    often = noise("GRAY8", 64, 48)
    model = image_model(echo(), often)
    kept = model.compiled
    for number in range(9):
        model.infer(noise("GRAY8", 66 + 2 * number, 48))
        model.infer(often)
        assert model.compiled is kept
    gone = noise("GRAY8", 66, 48)
    image = np.asarray(model.infer(gone)[0])[0]
    np.testing.assert_allclose(image, expected(gone, (40, 30), range_="full"), atol=1.1)
