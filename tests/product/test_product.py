# SPDX-License-Identifier: Apache-2.0
"""Pipelines of every source, model, writer and end in pairs; `tests.product.cases` has more.

Those of Ray do not run here: what it leaves running would be forked by other tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import prod

import openvino
import pytest

import samebytes as sb
from samebytes.errors import SamebytesError

for _package in (
    "av", "cv2", "gi", "samebytes_dma", "samebytes_ffmpeg", "samebytes_gstreamer", "samebytes_ipc",
):  # fmt: skip
    pytest.importorskip(_package, reason=f"missing package {_package}: see CONTRIBUTING.md")

from .cases import AXES, Case, few  # noqa: E402 - after what it needs
from .pairwise import covering, pairs_of  # noqa: E402
from .room import Room  # noqa: E402
from .rules import known  # noqa: E402
from .running import check  # noqa: E402

_ON_RAY = "Ray"
_HERE = [case for case in few() if case.source != _ON_RAY]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """The files and services of all cases."""
    found = openvino.Core().available_devices
    missing = [name for name in ("GPU", "NPU") if name not in found]
    try:
        sb.context("vaapi")
    except SamebytesError:
        missing.append("VAAPI")
    if missing:
        pytest.skip(
            f"missing device {', '.join(missing)}: pytest --softdevices=gpu,npu,vaapi "
            "(pip install samebytes-softdevices)"
        )
    with Room(tmp_path_factory.mktemp("product")) as made:
        yield made


@pytest.mark.parametrize("case", _HERE, ids=str)
def test_the_product(case: Case, room: Room, request: pytest.FixtureRequest) -> None:
    if (entry := known(case)) is not None:
        request.applymarker(pytest.mark.xfail(reason=entry.why, strict=not entry.sometimes))
    if case.convert == "torch":
        pytest.importorskip("torch", reason="missing package torch: pip install torch")
    check(case, room)


@pytest.mark.parametrize("whole", [(), ("source", "model", "writer")])
def test_every_pair_stands_in_the_rows(whole: tuple[str, ...]) -> None:
    rows = covering(AXES, whole)
    found = set().union(*(pairs_of(AXES, row) for row in rows))
    assert found == {
        ((one, value), (other, other_value))
        for one, other in combinations(AXES, 2)
        for value in AXES[one]
        for other_value in AXES[other]
    }
    assert len(rows) <= (prod(len(AXES[name]) for name in whole) if whole else 70)
