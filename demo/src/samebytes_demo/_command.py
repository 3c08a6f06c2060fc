# SPDX-License-Identifier: Apache-2.0
"""The command `samebytes demo`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from samebytes.plugins import without_secrets

from ._failures import check_memory, explain

if TYPE_CHECKING:
    from ._report import Report
    from ._signals import Ending

__all__ = ["SUMMARY", "add_arguments", "run"]

SUMMARY = "decode a video, find what moves, draw boxes and encode, all on one memory"

_FRAMES = 90
"""The frames of the clip that the demo makes: three seconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        "Decodes a video with FFmpeg, runs a model on the planes with OpenVINO, finds and draws "
        "boxes with OpenCV and encodes the same frames again, without copying a byte between "
        "them. It checks that first. Then it times that job, and an RGB model on the decoded "
        "frames, with samebytes, by hand and in the copying idiom, in turns."
    )
    add = parser.add_argument
    add("--input", type=Path, metavar="VIDEO",
        help="the video; by default the demo makes a test clip, H.264, 1080p")  # fmt: skip
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
        help="frames that may wait for the decoder to release them (default: 32)")  # fmt: skip
    add("--allow-copy", action="store_true",
        help="copy a frame that has waited in vain; the copies are counted")  # fmt: skip
    add("--streams", type=_positive, metavar="N",
        help="also time N streams at the same time, of the video and, if it is the test clip, of "
        "one in 4K")  # fmt: skip
    add("--no-compare", action="store_true", help="check only, time nothing")
    add("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the demo.

    Returns:
        0; 1 with a message on the standard error if it cannot be done; or 128 plus the number
        of the signal that ended it.
    """
    from ._signals import ends_by_signals

    with ends_by_signals() as ending:
        try:
            status = _report(args, ending)
        except BaseException as error:
            # A signal may have become any exception on its way through native code.
            status = ending.status or _failed(error)
    # The signal may have come when nothing could be raised.
    return ending.status or status


def _report(args: argparse.Namespace, ending: Ending) -> int:
    with tempfile.TemporaryDirectory(prefix="samebytes-demo-") as folder:
        report = _run(args, Path(folder), ending)
    try:
        print(json.dumps(report.as_dict(), indent=2) if args.json else report.text(), flush=True)
    except BrokenPipeError:
        raise
    except OSError:
        return 1  # `samebytes` reports the error
    if not report.same_boxes:
        print("samebytes demo: the ways found different boxes", file=sys.stderr)
        return 1
    return 0


def _failed(error: BaseException) -> int:
    """Print the message of an error that the demo knows; raise any other again."""
    message = explain(error)
    if message is None:
        raise error
    print(f"samebytes demo: {without_secrets(message)}", file=sys.stderr)
    return 1


def _positive(text: str) -> int:
    # argparse would call a ValueError an "invalid _positive value".
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above zero")
    return int(text)


def _run(args: argparse.Namespace, folder: Path, ending: Ending) -> Report:
    check_memory()
    from ._clip import make_clip
    from ._demo import run_demo

    _check_device(args.device)
    source = args.input
    if source is None:
        source = folder / "clip.mp4"
        make_clip(source, args.frames or _FRAMES, on_frame=lambda _: ending.check())
    return run_demo(args, source, folder, ending)


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
