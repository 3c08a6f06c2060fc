# SPDX-License-Identifier: Apache-2.0
"""`samebytes doctor --hardware-report`: checks of made-up devices, one for each behaviour."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from samebytes.__main__ import main
from samebytes._hardware.fields import allowed
from samebytes._hardware.report import made_report

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

_CLASSES = """
import os, signal, time
import numpy as np
from samebytes import CpuTensor, Device, MemoryMapper, Storage
from samebytes.errors import NativeError, UnsupportedObjectError
from samebytes.plugins import HostContext, ProbeResult

class Works(HostContext):
    memory_type = node = "works"
    tensor_class = CpuTensor

    @classmethod
    def create(cls, device, parent):
        return cls(Device("GPU", "Made-up GPU (TM)"))

    def allocate(self, shape, dtype="uint8"):
        native = np.zeros(shape, dtype)
        return CpuTensor.borrowed(native, self, keep=Storage(keep=native))

    def allocate_frame(self, *_, **__):
        raise UnsupportedObjectError("no frames")

class Refuses(Works):
    node = "refuses"

    def allocate(self, shape, dtype="uint8"):
        raise RuntimeError("/home/me/secret") from NativeError("makeMemory", -5, "/home/me/secret")

    def allocate_frame(self, *_, **__):
        os.kill(os.getpid(), signal.SIGSEGV)

class Hangs(Works):
    node = "hangs"

    def allocate(self, shape, dtype="uint8"):
        time.sleep(60)

class Alias(MemoryMapper):
    def connect(self, item, access):
        return item.native, None, Storage(keep=item.storage)

class Lies(MemoryMapper):
    def connect(self, item, access):
        return item.native.copy(), None, Storage(keep=item.storage)

def probe():
    return ProbeResult(usable=True, details={"driver": "24.1.5 of /opt/me", "at": "/dev/dri/me"})
"""
_PLUGIN = """
PLUGIN = Plugin(api=API, summary="made up", probe="made_classes:probe")

@hookimpl
def samebytes_contexts():
    return [ContextSpec(node=n, context=f"made_classes:{n.capitalize()}")
            for n in ("works", "refuses")]

@hookimpl
def samebytes_mappers():
    def edge(source, target, mapper):
        return MapperSpec(source=source, target=target, transfer=Transfer.ALIAS, summary="made up",
                          mapper=f"made_classes:{mapper}")
    return [edge("works", "cpu", "Alias"), edge("cpu", "works", "Lies")]
"""


_HANGING = """
@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="hangs", context="made_classes:Hangs")]
"""


@pytest.fixture
def made(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """One plugin with devices of every behaviour, beside the core's."""
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "made,hanging")
    site.module("made_classes", _CLASSES)
    site.plugin("made", _PLUGIN)
    site.plugin("hanging", _HANGING)


@pytest.mark.together
@pytest.mark.usefixtures("made")
def test_each_behaviour_is_a_row() -> None:
    """It takes seconds: each check is a process."""
    report = made_report(["made"])
    assert [(d["node"], d["kind"], d["name"]) for d in report["devices"]] == [
        (node, "GPU", "Made-up GPU (TM)") for node in ("works", "refuses")
    ]
    found = {(c["node"], c["check"]): (c["result"], c["by"]) for c in report["checks"]}
    assert found == {
        ("works", "memory"): ("passed", "in place"),
        ("works", "frame"): ("not offered", ""),
        ("works", "from cpu"): ("failed", "wrong bytes"),
        ("refuses", "memory"): ("refused", "makeMemory -5"),
        ("refuses", "frame"): ("crashed", "SIGSEGV"),
    }
    assert report["versions"] == [{"plugin": "made", "of": "driver", "version": "24.1.5"}]
    assert "/" not in json.dumps(report)
    assert "secret" not in json.dumps(report)


@pytest.mark.usefixtures("made")
def test_a_hang_is_a_row() -> None:
    report = made_report(["hanging"], each=0.2)
    found = {c["result"] for c in report["checks"]}
    # A check of what the context does not offer is over as soon as its process has begun.
    assert "hung" in found
    assert found <= {"hung", "not offered"}


@pytest.mark.usefixtures("made")
def test_what_there_is_no_time_for_is_said() -> None:
    report = made_report(["made"], seconds=0.0)
    assert {(c["check"], c["result"]) for c in report["checks"]} == {("device", "not run")}


@pytest.mark.usefixtures("site")
def test_a_machine_without_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SAMEBYTES_PLUGINS", "none")
    file = tmp_path / "report.json"
    assert main(["doctor", "cpu", "--hardware-report", str(file)]) == 1
    assert "No device was found" in capsys.readouterr().out
    report = json.loads(file.read_text())
    assert report == allowed(report)
    assert (report["devices"], report["checks"]) == ([], [])


def test_a_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "absent" / "report.json")
    assert main(["doctor", "cpu", "--hardware-report", file]) == 1
    assert "cannot be written: No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        {"devices": [{"node": "a/b", "kind": "<b>", "name": "/home/me"}], "extra": "/home/me"},
        {"checks": [{"node": "x", "check": "to /etc", "result": "fine", "by": "see https://me"}]},
        {"benchmarks": [{"plugin": "x", "row": "/me", "ratio": "many", "host": "me"}]},
        {"benchmarks": [{"ratio": float("nan")}, {"ratio": 1e300}, {"ratio": True}]},
        {"processor": "me@host", "kernel": "6.1-me", "date": "today", "versions": "/home/me"},
    ],
)
def test_nothing_but_the_allowed_fields_is_said(said: Any) -> None:
    made = allowed(said)
    assert set(made) == set(allowed({}))
    assert {text for text in _texts(made) if text} <= {"x", 1.0}


def _texts(value: Any) -> Iterator[str | None]:
    """All that is said, but for the names of fields."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    else:
        yield value
