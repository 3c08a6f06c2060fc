# SPDX-License-Identifier: Apache-2.0
"""The scenarios that the tests run on the cluster: each function is one of them."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import time
import traceback
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from parts import (  # type: ignore[import-not-found]  # of this folder, which is on PYTHONPATH
    GRAY,
    HEIGHT,
    WIDTH,
    Batch,
    Brighten,
    Dies,
    FailsToOpen,
    GivesAtEnd,
    Half,
    Holds,
    Look,
    Nowhere,
    Pictures,
    Raises,
    Twice,
    Where,
)

import samebytes as sb
import samebytes.elements as el
import samebytes_ray as sbr
from samebytes import metadata
from samebytes.errors import ElementError, NoRouteError

HERE, THERE = {"here": 0.01}, {"there": 0.01}
NBYTES = WIDTH * HEIGHT


def folder() -> Path:
    return Path(tempfile.mkdtemp(dir=os.environ["SAMEBYTES_RAY_TESTS"]))


def seen(frame: sb.Frame) -> Any:
    """All that can be compared of a frame."""
    entry = metadata.find(frame, metadata.Detection)
    values = {
        key: np.asarray(value.native).tolist() if isinstance(value, sb.Tensor) else value
        for key, value in frame.metadata.items()
        if isinstance(value, float | sb.Tensor)
    }
    here = frame.map("cpu")
    return (
        frame.pts, str(frame.meta.info), frame.regions, entry, values,
        [plane.native.tobytes() for plane in here.planes],
    )  # fmt: skip


def numbers(pipe: sbr.Pipeline, **options: Any) -> tuple[list[int | None], sbr.Running]:
    with pipe.start(**options) as out:
        found = [frame.pts for frame in out]
    return found, out


def is_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def in_store() -> float:
    """Bytes that the object stores of both nodes have free."""
    return float(ray.available_resources()["object_store_memory"])


def the_same_results_as_in_one_process() -> None:
    def parts() -> list[Any]:
        return [Pictures(count=12), Brighten(by=3), Look(), Half(), lambda frame: frame, Twice()]

    one = [seen(frame) for frame in el.Pipeline(*parts()).start(threads=0)]
    with sbr.Pipeline(*parts()).start() as out:
        other = [seen(frame) for frame in out]
    assert len(one) == 12
    assert other == one
    statistics = out.statistics()
    assert statistics.of("Half").frames_in == 12
    assert statistics.of("Half").frames_out == 6
    assert statistics.lost == 0


def references_are_passed_on() -> None:
    """Three actors on two nodes: one copy into the store, and the same object all the way."""
    pipe = sbr.Pipeline(
        Pictures(count=6),
        sbr.Actor(Where(key="a"), resources=HERE),
        sbr.Actor(Where(key="b"), resources=THERE),
        sbr.Actor(Where(key="c"), resources=THERE),
    )
    with pipe.start() as out:
        first = out.take()
        assert first is not None
        assert first.number == 0
        frames = list(out)
    driver = ray.get_runtime_context().get_node_id()
    assert len(frames) == 5
    for frame in frames:
        (a, one, _), (b, two, _), (c, three, _) = (frame.metadata[key] for key in "abc")
        assert a == driver
        assert b == c != a
        assert len({one, two, three, os.getpid()}) == 4
        assert all(frame.metadata[key][2] for key in "abc")  # read-only
        assert frame.readonly
        with pytest.raises(ValueError, match="read-only"):
            frame.planes[0].native[0, 0] = 1
    assert out.copies() == {"cpu -> pickle": (6, 6 * NBYTES)}, out.copies()


def run_does_not_fetch() -> None:
    """New frames on the other node stay there; only what came out is counted."""
    statistics = sbr.Pipeline(Pictures(count=6), sbr.Actor(Half(), resources=THERE)).run()
    assert statistics.latency.frames == 3
    assert [row.element for row in statistics] == ["Pictures", "Half"]


def the_store_is_free_again() -> None:
    before = in_store()
    sbr.Pipeline(Pictures(count=40), Where(), sbr.Actor(Brighten(), copy=True)).run()
    for _ in range(100):
        if in_store() >= before - 2 * NBYTES:
            return
        time.sleep(0.1)
    raise AssertionError(f"{before - in_store()} bytes are still in the store")


def killed_workers_lose_nothing() -> None:
    """Each frame leaves once and in order, whoever was killed."""
    once = folder()
    pipe = sbr.Pipeline(
        Pictures(count=20), Look(), Dies((3, 7), once),
        sbr.Actor(Where(), resources=THERE),
    )  # fmt: skip
    with pipe.start() as out:
        frames = list(out)
    assert [frame.pts for frame in frames] == list(range(20))
    assert [int(frame.planes[0].native[0, 0]) for frame in frames] == list(range(20))
    assert out.restarts == 2
    assert len({frame.metadata["by"] for frame in frames}) == 3
    assert len(frames[7].regions) == 2  # one of them is the detection


def killed_from_outside() -> None:
    """By kill(), at whichever place they are."""
    pipe = sbr.Pipeline(Pictures(count=60), Where(key="a"), Half(), Where(key="b"))
    killed: set[int] = set()
    with pipe.start(in_flight=4) as out:
        found = []
        for frame in out:
            found.append(frame.pts)
            for key in "ab":
                pid = frame.metadata.get(key, (0, 0))[1]
                if pid and len(killed) < 2 and pid not in killed and len(found) % 9 == 5:
                    killed.add(pid)
                    os.kill(pid, signal.SIGKILL)
                    break
    assert found == list(range(0, 60, 2))
    assert len(killed) >= 1
    assert out.restarts >= 1


def what_a_killed_element_had_kept_comes_back() -> None:
    """A batch of four had two frames when it was killed."""
    pipe = sbr.Pipeline(Pictures(count=15), Batch(6, folder() / "batch"))
    found, out = numbers(pipe, in_flight=3)  # fewer than the batch keeps
    assert found == list(range(15))
    assert out.restarts == 1
    assert out.statistics().lost == 0


def who_dies_each_time_ends_the_pipeline() -> None:
    pipe = sbr.Pipeline(Pictures(), Dies((4, 4), folder(), True))
    found: list[int | None] = []
    out = pipe.start(restarts=1)
    with pytest.raises(
        sbr.WorkerDiedError, match="element 'Dies': its process died; deaths in a row: 2"
    ):
        found.extend(frame.pts for frame in out)
    assert found == [0, 1, 2, 3]
    # 2 where the answer about frame 3 died with the process: then it was given once more.
    assert out.restarts in (1, 2)


def a_device_that_no_node_has() -> None:
    source = Pictures()
    pipe = sbr.Pipeline(source, sbr.Actor(Look(), resources={"FPGA": 1}))
    with pytest.raises(sbr.ClusterError, match=r"no node of the cluster has FPGA: 1.*here: 1") as e:
        pipe.start()
    assert e.value.resources == {"FPGA": 1}
    assert source.opened == 0
    both = {"here": 0.5, "there": 0.5}
    with pytest.raises(sbr.ClusterError, match=r"no node of the cluster has here: 0.5, there: 0.5"):
        sbr.Pipeline(Pictures(), sbr.Actor(Look(), resources=both)).start()


def one_device_for_two_actors() -> None:
    two = [sbr.Actor(Look(), resources={"NPU": 1}), sbr.Actor(Where(), resources={"NPU": 1})]
    with pytest.raises(sbr.ClusterError, match="ask for NPU: 2 together"):
        sbr.Pipeline(Pictures(), *two).start()


def a_device_that_is_in_use() -> None:
    wanted = {"NPU": 1}
    with sbr.Pipeline(Pictures(), sbr.Actor(Where(), resources=wanted)).start() as out:
        frame = next(out)
        began = time.monotonic()
        other = sbr.Pipeline(Pictures(), sbr.Actor(Look(), resources=wanted))
        with pytest.raises(sbr.PlacementTimeoutError, match="the actor of Look in 1 s"):
            other.start(timeout=1)
        assert time.monotonic() - began < 30
        pid = frame.metadata["where"][1]
    assert is_gone(pid)
    assert len(numbers(other)[0]) == 20  # now it is free


def an_element_that_cannot_be_pickled() -> None:
    with pytest.raises(
        ElementError, match=r"'Holds': it cannot be pickled.*the name of a file"
    ) as e:
        sbr.Pipeline(Pictures(), Look(), Holds()).start()
    assert isinstance(e.value.__cause__, TypeError)


def metadata_that_cannot_be_pickled() -> None:
    def spoil(frame: sb.Frame) -> sb.Frame:
        frame.metadata["open"] = (n for n in "abc")
        return frame

    with pytest.raises(ElementError, match=r"'spoil'.*metadata of a frame cannot be pickled"):
        sbr.Pipeline(Pictures(), spoil).run()


def an_element_that_writes_may_copy() -> None:
    pipe = sbr.Pipeline(Pictures(count=4), Where(), sbr.Actor(Brighten(by=5), copy=True))
    with pipe.start() as out:
        values = [int(frame.planes[0].native[0, 0]) for frame in out]
    assert values == [5, 6, 7, 8]
    copies = out.copies()
    assert copies == {
        "cpu -> pickle": (8, 8 * NBYTES),
        "cpu -> a frame of its own": (4, 4 * NBYTES),
    }, copies


def an_element_that_writes_without_saying_so() -> None:
    def sneak(frame: sb.Frame) -> sb.Frame:
        frame.planes[0].native[...] = 0
        return frame

    with pytest.raises(ElementError, match="read-only"):
        sbr.Pipeline(Pictures(), sneak).run()


def small_frames_are_read_only_too() -> None:
    """Ray passes what is small by value."""
    frames = [sb.frame(np.full((4, 4), n, np.uint8), format="GRAY8") for n in range(3)]
    for n, frame in enumerate(frames):
        frame.meta.pts = n
    with sbr.Pipeline(frames, Where()).start() as out:
        got = list(out)
    assert [frame.metadata["where"][2] for frame in got] == [True] * 3
    for frame in got:
        with pytest.raises(ValueError, match="read-only"):
            frame.planes[0].native[0, 0] = 1


def memory_that_the_cpu_cannot_map() -> None:
    with pytest.raises(ElementError, match="'island' cannot go into Ray's object store") as e:
        sbr.Pipeline(Nowhere(), Look()).run()
    assert isinstance(e.value.__cause__, NoRouteError)


def an_element_that_raises() -> None:
    diary = folder() / "diary"
    pipe = sbr.Pipeline(Pictures(), Raises(5, diary), Where())
    found: list[int | None] = []
    with pytest.raises(ElementError, match=r"element 'Raises' .*no such picture") as e:
        found.extend(frame.pts for frame in pipe.start())
    assert found == [0, 1, 2, 3, 4]
    assert isinstance(e.value.__cause__, ZeroDivisionError)
    assert (e.value.element, e.value.pts) == ("Raises", 5)
    assert "process" in e.value.__notes__[0]
    assert 'raise ZeroDivisionError("no such picture")' in e.value.__notes__[0]
    assert diary.read_text() == "True"


def an_actor_reports_after_its_element_raised() -> None:
    """Also where the next frames were under way to it."""
    out = sbr.Pipeline(Pictures(), Raises(5, folder() / "diary")).start(in_flight=4)
    with pytest.raises(ElementError, match="no such picture"):
        list(out)
    assert out.statistics().of("Raises").frames_out == 5


def what_is_secret_is_shown_nowhere() -> None:
    address = "rtsp://me:" + "s3cr" + "et@camera"

    def unreachable(_: sb.Frame) -> None:
        # The text of the line is in what the actor says.
        raise OSError(5, address, "rtsp://me:zvw7pq@camera") from ValueError(address)

    with pytest.raises(ElementError) as e:
        sbr.Pipeline(Pictures(), unreachable).run()
    texts = "".join([*traceback.format_exception(e.value), *e.value.__notes__])
    assert "rtsp://...@camera" in texts
    assert "s3cr" + "et" not in texts
    assert "zvw7pq" not in texts


def frames_that_raise_can_be_left_out() -> None:
    pipe = sbr.Pipeline(Pictures(count=8), Raises(5, folder() / "diary"))
    found, out = numbers(pipe, on_error="drop")
    assert found == [0, 1, 2, 3, 4, 6, 7]
    assert out.statistics().of("Raises").errors == 1


def a_source_that_raises() -> None:
    def source() -> Any:
        yield from list(el.Pipeline(Pictures(count=3)).start(threads=0))
        raise ZeroDivisionError

    found: list[int | None] = []
    with pytest.raises(ElementError, match="element 'source'"):
        found.extend(frame.pts for frame in sbr.Pipeline(source, Look()).start())
    assert found == [0, 1, 2]


def open_that_raises() -> None:
    with pytest.raises(ElementError, match=r"'FailsToOpen'.*open\(\) raised.*model.xml"):
        sbr.Pipeline(Pictures(), FailsToOpen()).start()


def a_pipeline_goes_without_the_garbage_collector() -> None:
    """Whichever way it ends; what the driver read may be large."""
    diary = folder() / "diary"
    stopped = Look()
    dies = Dies((4, 4), folder(), True)
    ends = Look(), Raises(5, diary), FailsToOpen(), dies, GivesAtEnd(), stopped
    gc.disable()
    try:
        for element in ends:
            source = Pictures()
            gone = weakref.ref(source)
            pipe = sbr.Pipeline(source, element)
            with suppress(ElementError), pipe.start(restarts=1) as out:
                for frame in out:
                    del frame
                    if element is stopped:
                        break
            out = pipe = source = None  # type: ignore[assignment]
            assert gone() is None, element
    finally:
        gc.enable()


def no_more_frames_than_agreed_are_under_way() -> None:
    source = Pictures(count=50)
    with sbr.Pipeline(source, Where()).start(in_flight=5) as out:
        for _ in range(100):
            time.sleep(0.02)
            assert source.number <= 5
        assert source.number == 5
        next(out)
        for _ in range(100):
            if source.number == 6:
                break
            time.sleep(0.02)
        assert source.number == 6
    assert out.statistics().lost == 5


def stopping_ends_everything() -> None:
    diary = folder() / "diary"
    with sbr.Pipeline(Pictures(count=500), Raises(-1, diary), Where()).start() as out:
        pid = next(out).metadata["where"][1]
    assert out.stopped
    assert diary.read_text() == "False"
    assert is_gone(pid)
    assert list(out) == []


def a_failing_program_is_known_to_the_elements() -> None:
    diary = folder() / "diary"

    def fail() -> None:
        with sbr.Pipeline(Pictures(count=500), Raises(-1, diary)).start() as out:
            next(out)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert diary.read_text() == "True"


def a_branch_and_a_sink() -> None:
    made = folder()

    def write(frame: sb.Frame) -> None:
        (made / str(frame.pts)).touch()

    pipe = sbr.Pipeline(Pictures(count=5), [el.sink(takes=GRAY)(write)()], Half())
    found, _ = numbers(pipe)
    assert found == [0, 2, 4]
    assert sorted(path.name for path in made.iterdir()) == ["0", "1", "2", "3", "4"]


def explained() -> None:
    pipe = sbr.Pipeline(Pictures(count=2), Brighten(), sbr.Actor(Look(), Half(), resources=THERE))
    assert pipe.explain() == (
        "in this process: Pictures + Brighten\nan actor on a node with there: 0.01: Look + Half"
    )
    with pipe.start() as out:
        text = out.explain()
    assert 'Brighten takes it in cpu, access "rw"' in text
    assert "gives image GRAY8 320x240 in cpu" in text  # agreed on before the first frame
