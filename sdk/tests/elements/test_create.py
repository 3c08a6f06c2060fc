# SPDX-License-Identifier: Apache-2.0
"""Elements by name: what plugins declare, what is refused, and json.sink."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import samebytes as sb
import samebytes.elements as el
from samebytes import metadata
from samebytes.elements._json import JsonSink, _turns
from samebytes.errors import ElementError, ParameterError, UnknownNameError
from samebytes.metadata import Detection, SourceIdentifier

from .pictures import frame, frames, numbers

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

DECLARES = """
@hookimpl
def samebytes_elements():
    return [ElementSpec(name="alpha.blur", element="alpha_elements:Blur", summary="blurs")]
"""
ELEMENTS = """
import samebytes.elements as el
class Blur(el.TransformInplace):
    radius: int = 3
    def process(self, frame): frame.metadata["radius"] = self.radius
"""


def test_a_file_has_one_json_sink_or_several_that_append(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"

    def sink(**options: Any) -> Any:
        return el.create("json.sink", path, add_empty_results=True, **options)

    with el.Pipeline(frames(9), sink()).start(threads=0) as first:
        next(first)
        for append in (False, True):
            with pytest.raises(ElementError, match=r"found\.jsonl is being written already"):
                el.Pipeline(frames(1), sink(append=append)).run()
        el.Pipeline(frames(1), el.create("json.sink", tmp_path / "other.jsonl")).run()
    assert len(path.read_text().splitlines()) == 1
    el.Pipeline(frames(3), sink(append=True), sink(append=True)).run()
    assert len(path.read_text().splitlines()) == 7
    el.Pipeline(frames(2), sink()).run()
    assert len(path.read_text().splitlines()) == 2


def lines_in(path: Path, **options: Any) -> Any:
    """A pipeline that has written one line into `path`, and goes on."""
    sink = el.create("json.sink", path, add_empty_results=True, **options)
    out = el.Pipeline(frames(9), sink).start(threads=0)
    next(out)
    return out


def test_a_file_that_one_of_two_sinks_still_appends_to_is_not_emptied(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    with lines_in(path, append=True) as first:
        with lines_in(path, append=True):
            pass
        with pytest.raises(ElementError, match=r"found\.jsonl is being written already"):
            lines_in(path)
        next(first)
    assert len(path.read_text().splitlines()) == 3


def test_a_file_is_known_by_what_it_is_and_not_by_its_name(tmp_path: Path) -> None:
    path, other = tmp_path / "found.jsonl", tmp_path / "found.jsonl.1"
    with lines_in(path) as first:
        path.rename(other)  # as logrotate does
        with lines_in(path):
            next(first)
        with pytest.raises(ElementError, match=r"found\.jsonl\.1 is being written already"):
            lines_in(other)
    assert [len(one.read_text().splitlines()) for one in (path, other)] == [1, 2]


def test_a_file_that_another_program_empties_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    with lines_in(path) as out:
        os.truncate(path, 0)  # as logrotate's copytruncate does
        next(out)
    assert json.loads(path.read_text())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here: run it on Linux or macOS")
def test_a_forked_child_writes_what_its_parent_has_open(tmp_path: Path) -> None:
    with lines_in(tmp_path / "found.jsonl"):
        child = os.fork()
        if not child:
            try:
                lines_in(tmp_path / "found.jsonl")
                os._exit(0)
            finally:
                os._exit(99)
        assert os.waitpid(child, 0) == (child, 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo() here: run it on Linux or macOS")
def test_a_sink_that_waits_for_the_reader_of_its_pipe_keeps_no_other_from_its_own(
    tmp_path: Path,
) -> None:
    pipes = [tmp_path / "a", tmp_path / "b"]
    sinks = [el.create("json.sink", path, add_empty_results=True) for path in pipes]
    threads = [
        threading.Thread(
            target=el.Pipeline(frames(1), sink).run, kwargs={"threads": 0}, daemon=True
        )
        for sink in sinks
    ]
    for path, thread in zip(pipes, threads, strict=True):
        os.mkfifo(path)
        thread.start()
    with lines_in(tmp_path / "plain.jsonl"):
        pass
    # The second pipe first: its sink must not wait for the sink of the first.
    assert [len(path.read_text().splitlines()) for path in reversed(pipes)] == [1, 1]
    for thread in threads:
        thread.join()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo() here: run it on Linux or macOS")
@pytest.mark.parametrize("ends", ["stop", "signal"])
@pytest.mark.parametrize("threads", [0, 1])
def test_a_pipe_that_nobody_empties_holds_no_pipeline_up(
    tmp_path: Path, threads: int, ends: str
) -> None:
    class HandlerError(Exception):
        pass

    def handler(*_: object) -> None:
        raise HandlerError

    def end() -> None:
        try:
            while room.poll(0) or not entered.is_set():
                time.sleep(0.001)
            time.sleep(0.1)  # the sink has more to write
            if ends == "stop":
                running.stop()
            else:
                os.kill(os.getpid(), signal.SIGUSR1)
        finally:
            held_up.append(not ended.wait(30))
            os.close(reader)

    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    room = select.poll()
    writer = os.open(path, os.O_WRONLY)
    room.register(writer, select.POLLOUT)
    before = signal.signal(signal.SIGUSR1, handler)
    entered, ended, held_up = threading.Event(), threading.Event(), list[bool]()
    sink = el.create("json.sink", path, add_empty_results=True)
    running = el.Pipeline(frames(1_000_000), sink).start(threads=threads)
    ending = threading.Thread(target=end)
    ending.start()
    with suppress(HandlerError, ElementError), running:
        entered.set()
        for _ in running:
            pass
    left = running.left()
    ended.set()
    ending.join()
    signal.signal(signal.SIGUSR1, before)
    os.close(writer)
    assert (held_up, left) == ([False], False)


def with_long_lines(count: int) -> Iterator[sb.Frame]:
    for _ in range(count):
        picture = frame()
        metadata.add(picture, metadata.Classification("x" * 1_000_000, 0.5))
        yield picture


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo() here: run it on Linux or macOS")
@pytest.mark.parametrize("ends", ["stop", "signal"])
@pytest.mark.parametrize("threads", [0, 1])
def test_a_slow_reader_gets_whole_lines_of_a_pipeline_that_ends(
    tmp_path: Path, threads: int, ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class HandlerError(Exception):
        pass

    def handler(*_: object) -> None:
        raise HandlerError

    def read() -> bytes:
        while room.poll(0) or not entered.is_set():
            time.sleep(0.001)
        os.close(writer)
        if ends == "stop":
            threading.Thread(target=running.stop).start()
        else:
            os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.1)  # longer than the sink waits between two looks for room
        os.set_blocking(reader, True)
        with os.fdopen(reader, "rb") as file:
            return file.read()

    monkeypatch.setattr("samebytes.elements._json._FINISHING", 60)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY)
    room = select.poll()
    room.register(writer, select.POLLOUT)
    before = signal.signal(signal.SIGUSR1, handler)
    entered = threading.Event()
    pipe = el.Pipeline(with_long_lines(1_000_000), el.create("json.sink", path))
    running = pipe.start(threads=threads)
    with ThreadPoolExecutor() as pool:
        taken = pool.submit(read)
        with suppress(HandlerError, ElementError), running:
            entered.set()
            for _ in running:
                pass
        lines = taken.result(60).decode().splitlines()
    signal.signal(signal.SIGUSR1, before)
    assert [len(json.loads(line)["objects"]) for line in lines] == [1] * len(lines) != []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo() here: run it on Linux or macOS")
@pytest.mark.parametrize("threads", [0, 1])
def test_a_file_in_the_place_of_standard_output_holds_no_pipeline_up(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """As in `samebytes run`, which notes there what failed."""

    def end() -> None:
        while room.poll(0):
            time.sleep(0.001)
        running.stop()

    number, writer = os.pipe()
    room = select.poll()
    room.register(writer, select.POLLOUT)
    with os.fdopen(writer, "w") as file, os.fdopen(number) as reader:
        monkeypatch.setattr(sys, "stdout", file)
        pipe = el.Pipeline(with_long_lines(1_000_000), el.create("json.sink"))
        running = pipe.start(threads=threads)
        late = threading.Timer(30, reader.close)
        late.start()
        ending = threading.Thread(target=end)
        ending.start()
        with suppress(ElementError):
            for _ in running:
                pass
        ending.join()
        late.cancel()
        late.join()
        assert (reader.closed, running.left()) == (False, False)


def test_what_stands_for_standard_output_gets_the_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Both:
        """A tee: it writes in its own way, and has everything else of the file behind it."""

        def __init__(self, file: Any) -> None:
            self._file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def write(self, text: str) -> int:
            lines.append(text)
            return len(text)

    lines = list[str]()
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as file:
        monkeypatch.setattr(sys, "stdout", Both(file))
        el.Pipeline(frames(2), el.create("json.sink", add_empty_results=True)).run()
    assert (len(lines), os.read(reader, 1)) == (2, b"")
    os.close(reader)


@pytest.mark.parametrize("kept", [False, True])
def test_standard_output_without_a_buffer_gets_the_lines(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with `python -u` or PYTHONUNBUFFERED, or kept in memory by the program."""
    number, writer = os.pipe()
    with os.fdopen(number, "rb") as reader, os.fdopen(writer, "wb", buffering=0) as raw:
        memory = io.BytesIO()
        file = io.TextIOWrapper(memory if kept else raw, write_through=True)
        monkeypatch.setattr(sys, "stdout", file)
        el.Pipeline(frames(2), el.create("json.sink", add_empty_results=True)).run()
        lines = memory.getvalue() if kept else os.read(reader.fileno(), 1_000_000)
        assert lines.count(b"\n") == 2
        file.detach()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo() here: run it on Linux or macOS")
def test_sinks_of_one_pipe_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor() as pool:
        taken = pool.submit(path.read_bytes)
        sinks = [el.create("json.sink", path) for _ in range(3)]
        el.Pipeline(with_long_lines(4), sinks).run(threads=1)
        lines = taken.result(60).decode().splitlines()
    assert [len(json.loads(line)["objects"]) for line in lines] == [1] * 12


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no mkfifo() here: run it on Linux or macOS")
def test_a_sink_that_waits_for_its_turn_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other sink of the pipe may be one of a pipeline that goes on."""

    def spy(self: JsonSink) -> None:
        waits.set()
        wait(self)

    waits, wait = threading.Event(), JsonSink._go_on_waiting
    monkeypatch.setattr(JsonSink, "_go_on_waiting", spy)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    status = os.fstat(reader)
    with _turns.of((status.st_dev, status.st_ino)):
        running = el.Pipeline(with_long_lines(1), el.create("json.sink", path)).start(threads=1)
        assert waits.wait(30)
        running.stop()
        assert not running.left()
    assert not select.select([reader], [], [], 0)[0] or not os.read(reader, 1)
    os.close(reader)


def test_a_device_has_many_sinks() -> None:
    with lines_in(Path(os.devnull)), lines_in(Path(os.devnull)):
        pass


def test_by_name(site: Site) -> None:
    site.module("alpha_elements", ELEMENTS)
    site.plugin("alpha", DECLARES)
    assert el.available()["alpha.blur"].summary == "blurs"
    assert "alpha_elements" not in sys.modules
    made = el.create("alpha.blur", radius=5)
    assert (made.name, made.parameters) == ("alpha.blur", {"radius": 5})
    with el.Pipeline(frames(1), made).start(threads=0) as out:
        assert next(out).metadata["radius"] == 5
    with pytest.raises(ParameterError, match=r"'alpha\.blur'.*'radius' must be an int"):
        el.create("alpha.blur", radius="x")
    with pytest.raises(UnknownNameError, match=r"unknown element 'alpha.blurr'; did you mean"):
        el.create("alpha.blurr")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (DECLARES.replace("alpha.blur", "blur"), "is not the name of an element"),
        (DECLARES.replace("alpha_elements:Blur", "Blur"), "element 'Blur' is not"),
        (DECLARES.replace('"blurs"', "3"), "summary 3 is not a string"),
        (DECLARES.replace("alpha.blur", "json.sink"), "element 'json.sink' that plugin 'cpu'"),
    ],
)
def test_wrong_declarations(site: Site, code: str, why: str) -> None:
    site.plugin("alpha", code)
    (found,) = [plugin for plugin in sb.installed_plugins() if plugin.name == "alpha"]
    assert why in str(found.error)


def test_the_hook_needs_its_version(site: Site) -> None:
    header = "from samebytes.plugins import *\nPLUGIN = Plugin(api=(1, 0), summary='old')\n"
    site.plugin("alpha", DECLARES, header=header)
    (found,) = [plugin for plugin in sb.installed_plugins() if plugin.name == "alpha"]
    assert "samebytes_elements needs PLUGIN = Plugin(api=(1, 1))" in str(found.error)
    with pytest.raises(UnknownNameError, match=r"plugin 'alpha' was set aside: .*needs PLUGIN"):
        el.create("alpha.blur")


@el.source()
def detected(*, count: int) -> Any:
    for number in range(count):
        made = frame(number)
        if number % 2:
            metadata.add(made, Detection(0.0, 0.0, 0.5, 0.5, "car", confidence=0.5))
        yield made


def test_lines_of_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "boxes.jsonl"
    el.Pipeline(detected(count=5), el.create("json.sink", path)).run()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["objects"][0]["detection"]["label"] for line in lines] == ["car", "car"]
    el.Pipeline(detected(count=2), el.create("json.sink", path, append=True)).run()
    assert len(path.read_text().splitlines()) == 3
    el.Pipeline(detected(count=4), el.create("json.sink", add_empty_results=True)).run()
    assert len(capsys.readouterr().out.splitlines()) == 4


@el.source(gives=el.Image("GRAY8", memory="cpu"))
def cameras(*, uri: str, number: int = 0) -> Iterator[sb.Frame[Any]]:
    """Pictures whose identity has a uri."""
    for _ in range(2):
        made = frame()
        metadata.add(made, SourceIdentifier(uri=uri, stream_id=number, batch_index=3))
        yield made


def identities(pipe: el.Pipeline, threads: int = 0) -> list[SourceIdentifier | None]:
    with pipe.start(threads=threads) as out:
        return [metadata.find(picture, SourceIdentifier) for picture in out]


@pytest.mark.parametrize("threads", [0, 1])
def test_frames_say_their_stream(threads: int) -> None:
    one, two = SourceIdentifier(stream_id=0), SourceIdentifier(stream_id=1)
    assert identities(el.Pipeline(numbers(count=2)), threads) == [one, one]
    found = identities(el.Pipeline([numbers(count=2), numbers(count=2)]), threads)
    assert found.count(one) == found.count(two) == 2


def test_an_identity_with_a_uri_has_the_number_of_its_stream() -> None:
    sources = [cameras(uri="a"), cameras(uri="b"), cameras(uri="c", number=7)]
    found = identities(el.Pipeline(sources))
    assert found[:3] == [SourceIdentifier(3, n, uri=uri) for n, uri in enumerate("abc")]


def test_one_source_may_give_frames_of_several_streams() -> None:
    with el.Pipeline([numbers(count=2), numbers(count=2)]).start(threads=0) as out:
        found = identities(el.Pipeline(out, lambda picture: picture))
    assert [one and one.stream_id for one in found] == [0, 1, 0, 1]


def test_a_batch_keeps_the_identity_of_each_picture() -> None:
    @el.source(gives=el.Image("GRAY8", memory="cpu"))
    def batch() -> Iterator[sb.Frame[Any]]:
        made = frame()
        for number in (4, 5):
            metadata.add(made, SourceIdentifier(number - 4, number))
        yield made

    with el.Pipeline([numbers(count=0), batch()]).start(threads=0) as out:
        assert [one.stream_id for one in metadata.all_of(next(out), SourceIdentifier)] == [4, 5]


def test_lines_of_json_say_their_stream(tmp_path: Path) -> None:
    path = tmp_path / "boxes.jsonl"
    el.Pipeline([detected(count=2), detected(count=4)], el.create("json.sink", path)).run(threads=0)
    lines = path.read_text().splitlines()
    assert [json.loads(line)["stream_id"] for line in lines] == [0, 1, 1]
    meta = sb.FrameMeta(frame().meta.info)
    metadata.from_json(lines[1], meta)
    assert metadata.find(meta, SourceIdentifier) == SourceIdentifier(stream_id=1)


def test_the_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "elements.md"
    if not page.exists():
        pytest.skip("missing file docs/reference/elements.md: run it in a checkout")
    code, rest = page.read_text().split("```python\n", 1)[1].split("```", 1)
    exec(compile(code, str(page), "exec"), {"__name__": "page"})
    printed = rest.split("```text\n", 1)[1].split("```", 1)[0]
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("threads", [0, 1])
def test_a_file_of_json_for_each_stream(threads: int, tmp_path: Path) -> None:
    sink = el.create("json.sink", tmp_path / "{a} {stream:02}.jsonl")
    for count in (1, 2):  # and again
        pipe = el.Pipeline([detected(count=2), detected(count=4 * count)], sink)
        pipe.run(threads=threads)
        assert [path.name for path in sorted(tmp_path.iterdir())] == [
            "{a} 00.jsonl",
            "{a} 01.jsonl",
        ]
        for number, lines in enumerate([1, 2 * count]):
            written = (tmp_path / f"{{a}} 0{number}.jsonl").read_text().splitlines()
            assert [json.loads(line)["stream_id"] for line in written] == [number] * lines
