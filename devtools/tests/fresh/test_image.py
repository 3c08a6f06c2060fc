# SPDX-License-Identifier: Apache-2.0
"""`dev.py fresh image`: what it says where it cannot build. It is run by hand where it can."""

import pytest

from devtools.fresh import image
from devtools.workspace import ROOT, CommandError


def test_a_machine_without_buildah_says_how_it_is_got(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "why_no_root", lambda: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(CommandError, match="buildah is missing: apt-get install buildah"):
        image.image()


def test_the_base_is_the_one_of_the_file() -> None:
    lines = (ROOT / image._FILE).read_text().splitlines()
    bases = {line.split()[1] for line in lines if line.startswith("FROM ")}
    assert bases == {image._BASE.removeprefix("docker.io/library/")}
