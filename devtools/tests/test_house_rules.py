# SPDX-License-Identifier: Apache-2.0
"""The rules that no linter knows."""

import pytest

from devtools.house_rules import check_imports, check_licence

SPDX = "# SPDX-License-Identifier: Apache-2.0\n"


@pytest.mark.parametrize("text", [SPDX, f"#!/usr/bin/env python3\n{SPDX}"])
def test_licence_line_is_found(text: str) -> None:
    assert check_licence(text) == []


@pytest.mark.parametrize("text", ["", "import os\n" + SPDX, "# SPDX-License-Identifier: MIT\n"])
def test_licence_line_is_missed(text: str) -> None:
    assert len(check_licence(text)) == 1


@pytest.mark.parametrize(
    "line",
    [
        "import samebytes._core.tensor",
        "from samebytes._core import tensor",
        "from samebytes import _core",
        "from samebytes.testing import _suites",
        "from samebytes_ffmpeg._planes import Planes",
    ],
)
def test_private_names_of_others_are_refused(line: str) -> None:
    assert len(check_imports(line, "samebytes_mappers")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "from samebytes import Tensor, __version__",
        "from samebytes.testing import TensorSuite",
        "from samebytes_mappers._pairs import pair",
        "from . import _pairs",
        "from os import _exit",
    ],
)
def test_public_and_own_names_are_fine(line: str) -> None:
    assert check_imports(line, "samebytes_mappers") == []
