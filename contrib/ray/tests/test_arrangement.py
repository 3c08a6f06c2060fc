# SPDX-License-Identifier: Apache-2.0
"""Elements that share a process, and the refusals before anything starts."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebytes as sb
import samebytes.elements as el
import samebytes_ray as sbr
from samebytes.errors import NegotiationError, UnsupportedObjectError
from samebytes_ray._frames import described, frame_of

GRAY = el.Image("GRAY8", memory="cpu")


def test_tensors_in_containers_of_the_metadata_go_along() -> None:
    frame = sb.frame(np.zeros((8, 8), np.uint8), format="GRAY8")
    row = sb.tensor(np.arange(3))
    held: list[Any] = [OrderedDict(row=row)]
    held.append(held)
    frame.metadata["held"] = held
    frame.regions.append(sb.Region(0, 0, 1, 1, metadata={"row": row}))
    got = frame_of(list(frame.planes), described(frame, "some"))
    found = got.metadata["held"]
    assert found[1] is found
    for tensor in (found[0]["row"], got.regions[0].metadata["row"]):
        assert tensor.native.tolist() == [0, 1, 2]
    assert held[0]["row"] is frame.regions[0].metadata["row"] is row


@el.source(gives=el.Image("GRAY8", memory="cpu", width=8, height=8))
def pictures() -> Any:
    yield sb.frame(np.zeros((8, 8), np.uint8), format="GRAY8")


@el.inplace(takes=el.Image("GRAY8", memory="cpu", access="rw"))
def write(frame: sb.Frame) -> None:
    pass


@el.inplace(takes=GRAY)
def read(frame: sb.Frame) -> None:
    pass


@el.transform(takes=GRAY, gives=GRAY)
def make(frame: sb.Frame) -> sb.Frame:
    return frame


def passed(frame: sb.Frame) -> sb.Frame:
    return frame


def test_each_element_has_an_actor_of_its_own() -> None:
    pipe = sbr.Pipeline(pictures(), read(), passed, [read(), make()], make())
    assert pipe.explain() == (
        "in this process: pictures\nan actor: read\nan actor: passed\n"
        "an actor: [read, make]\nan actor: make"
    )


def test_who_writes_runs_where_the_frame_is_made() -> None:
    pipe = sbr.Pipeline(pictures(), write(), read(), make(), write(), write())
    assert pipe.explain() == (
        "in this process: pictures + write\nan actor: read\nan actor: make + write + write"
    )


def test_several_in_one_actor() -> None:
    actor = sbr.Actor(make(), write(), resources={"NPU": 1, "CPU": 0.5})
    assert repr(actor) == "Actor(make, write, resources={'NPU': 1, 'CPU': 0.5})"
    pipe = sbr.Pipeline(pictures(), read(), actor)
    assert (
        pipe.explain().splitlines()[-1] == "an actor on a node with NPU: 1, CPU: 0.5: make + write"
    )
    assert repr(pipe) == "<Pipeline on Ray: pictures -> read -> make + write>"


@pytest.mark.parametrize(
    "items",
    [
        lambda: [read(), write()],
        lambda: [passed, write()],
        lambda: [sbr.Actor(write())],
        lambda: [sbr.Actor(read(), write())],
        lambda: [sbr.Actor(make()), sbr.Actor(write())],
    ],
)
def test_who_writes_into_the_store_is_refused(items: Any) -> None:
    with pytest.raises(NegotiationError, match=r"'write': it writes into frames that lie in Ray's"):
        sbr.Pipeline(pictures(), *items())


def test_or_copies() -> None:
    sbr.Pipeline(pictures(), read(), sbr.Actor(write(), copy=True))
    pipe = sbr.Pipeline(pictures(), read(), write(), copy=True)
    assert pipe.explain().splitlines()[-1] == "an actor: write"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (list, "begins with a source"),
        (lambda: [sbr.Actor(pictures())], "begins with a source"),
        (lambda: [read()], "a source"),
        (lambda: [[pictures(), pictures()], read()], "one source: make a pipeline for each"),
        (lambda: [pictures(), 7], "not 7"),
        (lambda: [pictures(), el.Sink], "Sink is a class: pass an element of it"),
        (lambda: [pictures(), sbr.Actor()], "one element or several"),
        (lambda: [pictures(), sbr.Actor(sbr.Actor(read()))], "no other Actor"),
        (lambda: [pictures(), pictures()], "sources come first"),
    ],
)
def test_lists_that_are_not_pipelines(items: Any, message: str) -> None:
    with pytest.raises(UnsupportedObjectError, match=message):
        sbr.Pipeline(*items())


def test_one_element_at_two_places() -> None:
    one = read()
    with pytest.raises(UnsupportedObjectError, match="twice"):
        sbr.Pipeline(pictures(), one, sbr.Actor(one))


def test_without_a_cluster() -> None:
    with pytest.raises(sbr.ClusterError, match=r"not connected to a Ray cluster: call ray\.init"):
        sbr.Pipeline(pictures(), read()).start()
    assert "ray" in sys.modules


@pytest.mark.parametrize("wrong", [{"in_flight": 0}, {"restarts": -1}, {"on_error": "ignore"}])
def test_arguments(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        sbr.Pipeline(pictures(), read()).start(**wrong)


def test_importing_it_does_not_import_ray() -> None:
    code = "import sys, samebytes_ray; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path("/")).returncode == 0
