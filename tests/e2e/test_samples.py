# SPDX-License-Identifier: Apache-2.0
"""The programs in samples/, on each device: the same boxes, and no bytes copied."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import av
import numpy as np
import pytest

import samebytes as sb
from samebytes.errors import SamebytesError
from samebytes.testing import missing_device

from .sample_inputs import FRAMES, HEIGHT, WIDTH, make_model, make_video, place
from .street import make_street, street_with_boxes

ROOT = Path(__file__).parents[2]
_ELEMENTS = ("convert", "ffmpeg.source", "json.sink", "opencv.draw", "openvino.infer", "ring.sink")


@pytest.fixture(params=["CPU", "GPU", "NPU"])
def name(request: pytest.FixtureRequest, device: Callable[..., None]) -> str:
    """A device that is there."""
    kind: str = request.param
    device(kind)
    return kind


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("samples") / "video.mp4"
    make_video(path)
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "detector.xml"
    make_model(path)
    return path


def run(sample: str, *arguments: Any) -> str:
    done = subprocess.run(
        [sys.executable, ROOT / "samples" / sample, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "0 bytes copied"
    return done.stdout


def expected(prefix: str = "frame") -> list[str]:
    return [f"{prefix} {n}: {' '.join(map(str, place(n)))}" for n in range(FRAMES)]


def explained(document: str) -> str:
    """The block that a page shows as printed by explain()."""
    text = (ROOT / "docs" / "how-to" / document).read_text()
    (found,) = re.findall(r"```text\n((?:stream 0: )?[\w.]+ gives .*?)```", text, re.DOTALL)
    return str(found)


_INFER = re.compile(r" +openvino\.infer takes .*\n(?: {4}.*\n)*")


def check_explained(document: str, name: str, printed: str) -> None:
    """See whether the page shows what was printed: with the CPU; others lead to another memory."""
    shown = explained(document)
    if name == "CPU":
        assert shown in printed
        return
    assert _INFER.sub("", shown) in _INFER.sub("", printed)
    assert f"and maps it to openvino:{name} itself" in printed
    assert "not confirmed" not in printed


def test_detect_and_draw(name: str, video: Path, model: Path, tmp_path: Path) -> None:
    made = tmp_path / "drawn.mp4"
    printed = run("detect.py", video, model, made, "--device", name)
    assert printed.splitlines()[:FRAMES] == expected()
    check_explained("detect-and-draw.md", name, printed)
    (step,) = _INFER.findall(printed)
    assert step in (ROOT / "docs/how-to/detect-and-draw.md").read_text()
    with av.open(str(made)) as container:
        drawn = [frame.to_ndarray() for frame in container.decode(video=0)]
    assert len(drawn) == FRAMES
    for number, picture in enumerate(drawn):
        x, y, width, height = place(number)
        # The line is darker than the square, and brighter than the ground.
        assert abs(int(picture[y + height // 2, x]) - 186) < 25
        assert abs(int(picture[y + height - 1, x + width // 2]) - 186) < 25


def test_several_streams(name: str, video: Path, model: Path) -> None:
    printed = run("several_streams.py", model, video, video, "--device", name)
    lines = printed.splitlines()
    for camera in ("camera 0", "camera 1"):
        found = [line for line in lines if line.startswith(f"{camera}, ")]
        assert found == expected(f"{camera}, frame")
        assert f"{camera}: {FRAMES} frames, {FRAMES} boxes" in lines
    check_explained("several-streams.md", name, printed)


def one_cl_context(model: Path) -> None:
    """See whether kernel and model of the sample run on the same cl_context."""
    code = (
        "import sys, gray_kernel as sample; import samebytes.elements as el\n"
        "gray, infer = sample.Gray(), el.create('openvino.infer', sys.argv[1], 'GPU', "
        "postprocess=sample.boxes)\n"
        "with el.Pipeline(sample.camera(count=2), gray, infer).start(threads=0) as out:\n"
        "    for frame in out:\n"
        "        found = infer.pipeline_context('openvino:GPU').handle('cl_context')\n"
        "        assert infer._images.compiled.context.handle('cl_context') == found\n"
        "        assert gray.queue.context.int_ptr == found\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, model], cwd=ROOT / "samples",
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_gray_by_a_kernel(
    name: str, device: Callable[..., None], model: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pyopencl", reason="missing package pyopencl: pip install pyopencl")
    device("GPU")  # whose OpenCL runs the kernel
    made = tmp_path / "gray.mkv"
    printed = run("gray_kernel.py", model, made, "--device", name)
    assert printed.splitlines()[:FRAMES] == expected()
    check_explained("gray-by-a-kernel.md", name, printed)
    if name == "GPU":
        one_cl_context(model)
    with av.open(str(made)) as container:
        for frame in container.decode(video=0):
            picture = frame.to_ndarray(format="rgb24").astype(int)
            assert np.median(np.ptp(picture, axis=2)) < 8  # it was 80, and the encoder adds noise


def test_an_element_of_gstreamer(name: str, model: Path) -> None:
    pytest.importorskip("gi", reason="missing package gi: pip install PyGObject")
    source = (
        "videotestsrc pattern=ball num-buffers=24 ! video/x-raw,format=NV12,width=256,height=192"
    )
    printed = run("gstreamer_element.py", source, model, "--device", name)
    found = [tuple(map(int, line.split(": ")[1].split())) for line in printed.splitlines()[:-1]]
    assert len(found) == FRAMES
    # The ball: white, 40 pixels wide, and never where it was.
    assert all(36 <= width <= 40 and 36 <= height <= 40 for _, _, width, height in found)
    assert len(set(found)) == FRAMES
    assert (found[0], found[-1]) == ((108, 78, 40, 36), (180, 141, 40, 39))


def reader_said(printed: str) -> list[str]:
    """Check the boxes and copies that the inferring process printed, and return all lines."""
    lines = printed.splitlines()
    assert lines[:FRAMES] == expected()
    assert "0 bytes copied by the reader" in lines
    return lines


def test_decode_here_and_infer_there(name: str, video: Path, model: Path) -> None:
    """One copy of each frame: from the decoder's own memory into a slot."""
    pytest.importorskip("samebytes_ipc", reason="missing package samebytes_ipc")
    done = subprocess.run(
        [sys.executable, ROOT / "samples/decode_and_infer.py", video, model, "--device", name],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = reader_said(done.stdout)
    assert f"ffmpeg -> ring: one copy of each of {FRAMES} frames, into its slot" in lines
    assert lines[-1] == f"{FRAMES * WIDTH * HEIGHT * 3 // 2} bytes copied"
    check_explained("decode-here-infer-there.md", name, done.stdout)


@pytest.mark.parametrize("memory", ["vaapi", "dma:memfd"])
def test_frames_that_need_no_copy(
    name: str, memory: str, video: Path, model: Path, tmp_path: Path
) -> None:
    """Surfaces of VA-API and DMA-BUFs go to the other process where they lie."""
    pytest.importorskip("samebytes_ipc", reason="missing package samebytes_ipc")
    try:
        sb.context(memory)
    except SamebytesError as error:
        pytest.skip(f"{missing_device('VAAPI')} ({error})")
    address = str(tmp_path / "ring")
    code = "import sys, decode_and_infer; decode_and_infer.infer(*sys.argv[1:])"
    reader = subprocess.Popen(
        [sys.executable, "-c", code, address, model, name], cwd=ROOT / "samples",
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        program = ROOT / "tests/e2e/programs/surfaces_to_ring.py"
        done = subprocess.run(
            [sys.executable, program, ROOT / "samples", memory, address, video],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout == "the frames were sent where they lie: no copy\n"
        printed, _ = reader.communicate(timeout=120)
    finally:
        reader.kill()
        reader.communicate()
    assert reader.returncode == 0
    reader_said(printed)


@pytest.fixture
def ray_cluster() -> Iterator[str]:
    """The address of a Ray cluster of two nodes."""
    pytest.importorskip("ray", reason="missing package ray: pip install ray")
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(
        [sys.executable, ROOT / "tests/e2e/programs/ray_cluster.py"], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
            process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def test_detect_on_ray(ray_cluster: str, video: Path, model: Path) -> None:
    """The same boxes as in one process, from another node; each plane is copied once."""
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    sample = ROOT / "samples/detect_on_ray.py"
    done = subprocess.run(
        [sys.executable, sample, video, model, "--address", ray_cluster, "--resource", "there"],
        capture_output=True, text=True, timeout=240, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:FRAMES] == expected()
    nbytes = FRAMES * WIDTH * HEIGHT * 3 // 2
    assert f"cpu -> pickle: {3 * FRAMES} planes copied, {nbytes} bytes" in lines
    page = (ROOT / "docs/how-to/the-same-on-ray.md").read_text()
    printed = "\n".join(lines[FRAMES:])
    assert re.sub(r"in process \d+ on \S+:", "in process 4711 on node-2:", printed) in page


@pytest.mark.parametrize(
    ("page", "name"), [("detect-and-draw", "detect"), ("gray-by-a-kernel", "gray_kernel")]
)
def test_the_pages_show_what_the_samples_make(page: str, name: str) -> None:
    """`python3 dev.py pictures` makes them."""
    picture = ROOT / "docs" / "how-to" / "pictures" / f"{name}.png"
    assert 500 < picture.stat().st_size < 100_000
    assert f"](pictures/{picture.name})" in (ROOT / "docs" / "how-to" / f"{page}.md").read_text()
    image = av.open(str(picture))
    with image:
        (frame,) = image.decode(video=0)
    # The line of the box, or the square, is in the middle one of three frames.
    assert (frame.width, frame.height) == (3 * 256 + 2 * 8, 192)
    pixels = frame.to_ndarray(format="rgb24")[:, 264 : 264 + 256].astype(int)
    x, y, _, height = place(FRAMES // 2)
    edge, ground = pixels[y + height // 2, x], pixels[5, 5]
    assert np.abs(edge - ground).max() > 60


@pytest.mark.parametrize(
    ("name", "pages"),
    [("demo", ["README.md"]), ("street", ["README.md", "docs/README.md"])],
)
def test_the_front_pages_show_what_is_made(name: str, pages: list[str]) -> None:
    """`python3 dev.py pictures` makes it: frames with yellow boxes."""
    picture = ROOT / "docs" / "how-to" / "pictures" / f"{name}.png"
    assert 500 < picture.stat().st_size < 100_000
    for page in pages:
        link = picture.relative_to((ROOT / page).parent)
        assert f"]({link})" in (ROOT / page).read_text()
    with av.open(str(picture)) as image:
        (frame,) = image.decode(video=0)
    red, green, blue = np.moveaxis(frame.to_ndarray(format="rgb24").astype(int), 2, 0)
    yellow = (red > 180) & (green > 180) & (blue < 120)
    for part in np.array_split(yellow, 3 if name == "demo" else 2, axis=1):
        assert part.sum() > 200


def test_the_street_has_boxes_without_a_copy(tmp_path: Path) -> None:
    make_street(tmp_path / "street.mp4")
    frames = street_with_boxes(tmp_path / "street.mp4")
    assert len(frames) == 24
    left, top = 47, 243  # of the red car in the fourth frame
    blue, green, red = frames[3][top, left + 10 : left + 110].astype(int).mean(0)
    assert red > 200
    assert green > 160
    assert blue < 90


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("elements", ["what it does", *_ELEMENTS]),
        ("element", ["takes: image", "color: tuple[int, int, int], 0 to 255"]),
        ("doctor", ["PLUGIN", "USABLE", "cuda: to do: install NVIDIA's driver"]),
        ("run", ["frames", "/600", "/s"]),
        ("statistics", ["p99 ms", "ffmpeg.sink", "source to end, ms:"]),
    ],
)
def test_the_page_of_the_command_shows_terminals(name: str, words: list[str]) -> None:
    """`python3 dev.py pictures` makes them."""
    picture = ROOT / "docs" / "how-to" / "pictures" / f"{name}.svg"
    assert f"](../how-to/pictures/{picture.name})" in (ROOT / "docs/reference/cli.md").read_text()
    root = ElementTree.parse(picture).getroot()
    text = " ".join(root.itertext()).replace("\xa0", " ")
    assert [word for word in words if word not in text] == []
    assert "http" not in text  # it loads no font
