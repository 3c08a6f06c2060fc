# SPDX-License-Identifier: Apache-2.0
"""The command `samebytes demo`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._report import Report

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "decode a video, find what moves, draw boxes and encode, all on one memory"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.description = (
        "Decodes a video with FFmpeg, runs a model on the planes with OpenVINO, finds and draws "
        "boxes with OpenCV and encodes the same frames again, without copying a byte between "
        "them. Then runs the copying idiom beside it."
    )
    add = parser.add_argument
    add("--input", type=Path, metavar="VIDEO",
        help="the video; by default the demo makes a test clip, H.264")  # fmt: skip
    add("--model", type=Path, metavar="FILE",
        help="an OpenVINO IR or ONNX model with one image input, in place of the built-in motion "
        "detector; [1,1,N,7] detections are drawn")  # fmt: skip
    add("--output", type=Path, metavar="VIDEO", default=Path("samebytes-demo.mp4"),
        help="where to write the video (default: %(default)s); a .png beside it shows some "
        "frames")  # fmt: skip
    add("--device", default="CPU", metavar="DEVICE",
        help="OpenVINO's device: CPU, GPU, GPU.1, NPU ... (default: %(default)s)")  # fmt: skip
    add("--frames", type=_positive, metavar="N", help="stop after N frames")
    add("--wait", type=_positive, metavar="N",
        help="frames that may wait for the decoder to let go of them (default: 32)")  # fmt: skip
    add("--allow-copy", action="store_true",
        help="copy a frame that has waited in vain; the copies are counted")  # fmt: skip
    add("--no-compare", action="store_true", help="do not run the copying idiom")
    add("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the demo.

    Returns:
        0; or 1 with a message on the standard error if it cannot be done.
    """
    from samebytes.errors import SamebytesError

    from ._errors import DemoError

    try:
        report = _run(args)
    except (DemoError, SamebytesError) as error:
        print(f"samebytes demo: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report.as_dict(), indent=2) if args.json else report.text())
    if not report.same_boxes:
        print("samebytes demo: the two pipelines found different boxes", file=sys.stderr)
        return 1
    return 0


def _positive(text: str) -> int:
    # argparse would call a ValueError an "invalid _positive value".
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def _run(args: argparse.Namespace) -> Report:
    from ._clip import make_clip
    from ._demo import run_demo

    _check_device(args.device)
    with _terminable(), tempfile.TemporaryDirectory(prefix="samebytes-demo-") as folder:
        source = args.input
        if source is None:
            source = Path(folder, "clip.mp4")
            make_clip(source, args.frames or 150)
        return run_demo(args, source, Path(folder))


def _check_device(name: str) -> None:
    import openvino

    from ._errors import DemoError

    found = openvino.Core().available_devices
    if name in found or (name in ("GPU", "NPU") and f"{name}.0" in found):
        return
    kind = name.partition(".")[0].lower()
    hint = (
        f"; without one, try the software {kind.upper()}: pip install "
        f'"samebytes-softdevices[{kind}]" and samebytes-softdevices run --{kind} -- '
        f"samebytes demo --device {name}"
        if kind in ("gpu", "npu")
        else ": name one of them"
    )
    raise DemoError(f"OpenVINO finds no device {name} here, but {', '.join(found)}{hint}")


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does, so that temporary files are removed."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    # The status that a shell gives to what a signal has ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
