# SPDX-License-Identifier: Apache-2.0
"""Tests of removing a backend, and of which tests could notice."""

import subprocess
import sys
from pathlib import Path

import pytest

from devtools.removal import BACKENDS, LAST, dependents, link_venv, telling_tests
from devtools.workspace import ROOT, Distribution


def backend(name: str) -> Distribution:
    """The backend of that name."""
    return next(b for b in BACKENDS if b.name == f"samebytes-{name}")


@pytest.mark.parametrize("removed", BACKENDS, ids=lambda d: d.name)
def test_the_rest_is_tested_and_the_removed_is_not(removed: Distribution) -> None:
    paths = telling_tests([removed])
    assert all((ROOT / path).exists() for path in paths)
    assert not any(path.startswith(f"{removed.folder}/") for path in paths)
    gone = [removed, *dependents(removed)]
    others = {b.folder for b in BACKENDS if b not in gone and any(b.path.glob("tests/test_conf*"))}
    assert others <= {"/".join(path.split("/")[:2]) for path in paths}
    assert "sdk/tests/plugins/test_discovery.py" in paths


def test_who_names_the_removed_is_asked() -> None:
    paths = telling_tests([backend("dma")])
    assert "backends/npu_level_zero/tests/test_dma_edges.py" in paths


def test_in_its_company_a_word_is_enough() -> None:
    paths = telling_tests([backend("dma")])
    assert "backends/vaapi/tests/test_export.py" in paths
    assert "backends/ffmpeg/tests/test_peers.py" not in paths


def test_what_no_other_is_tested_with_goes_at_once() -> None:
    assert backend("ray") in LAST
    assert backend("dma") not in LAST
    assert not any(d in LAST for b in LAST for d in dependents(b))
    alone = {*telling_tests([backend("ray")]), *telling_tests([backend("sycl")])}
    both = telling_tests([backend("ray"), backend("sycl")])
    assert {*both} == {p for p in alone if not p.startswith(("contrib/ray/", "contrib/sycl/"))}


def test_what_depends_on_the_removed_goes_with_it() -> None:
    assert dependents(backend("dma")) == [backend("ipc"), backend("v4l2")]
    assert not any(path.startswith("contrib/ipc/") for path in telling_tests([backend("dma")]))
    assert dependents(backend("ipc")) == []


def test_a_copy_lacks_what_is_gone_alone(tmp_path: Path) -> None:
    venv, copy = tmp_path / "venv", tmp_path / "copies" / "one"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = Path("lib", version, "site-packages")
    gone = [
        packages / "samebytes_dma-0.1.0.dist-info" / "RECORD",
        packages / "_editable_impl_samebytes_dma.pth",
    ]
    kept = [
        packages / "samebytes-0.1.0.dist-info" / "RECORD",
        packages / "_editable_impl_samebytes_dma_more.pth",
        packages / "numpy" / "core" / "__init__.py",
        Path("lib", "libsycl.so"),
        Path("bin", "samebytes"),
    ]
    for file in (*gone, *kept):
        (venv / file).parent.mkdir(parents=True, exist_ok=True)
        (venv / file).write_text(f"#!{venv}/bin/python\n")
    link_venv(venv, copy, ["samebytes_dma"])
    assert all((copy / file).exists() for file in kept)
    assert not any((copy / file).exists() for file in gone)
    assert (copy / packages / "numpy").is_symlink(), "nobody copies all of its files"
    assert (copy / "bin" / "samebytes").read_text() == f"#!{copy}/bin/python\n"
    subprocess.run([copy / "bin" / "python", "-c", "import numpy.core"], check=True)
    assert all((venv / file).exists() for file in gone)
