# SPDX-License-Identifier: Apache-2.0
"""Decode here, infer in another process.

python3 samples/decode_and_infer.py video.mp4 detector.xml --device GPU
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from detect import boxes

import samebytes as sb
import samebytes.elements as el


def send(source, address: str) -> list[str]:
    """Send the frames of a source through the ring; return what was copied, as lines of text."""
    pipe = el.Pipeline(source, el.create("ring.sink", address, copy=True, readers=1, timeout=60.0))
    pipe.run()
    copied = {edge: n for edge, n in sb.stats().by_edge.items() if edge.endswith("-> ring")}
    if not copied:
        return ["the frames were sent where they lie: no copy"]
    return [
        f"{edge}: one copy of each of {count.copies} frames, into its slot"
        for edge, count in copied.items()
    ]


def infer(address: str, model: str, device: str) -> None:
    """Read frames from the ring, and detect objects in them. This runs in the other process."""
    pipe = el.Pipeline(
        el.create("ring.source", address, timeout=60.0),
        el.create("openvino.infer", model, device, postprocess=boxes),
    )
    with pipe.start() as out:
        for number, frame in enumerate(out):
            for box in frame.regions:
                print(f"frame {number}: {box.x} {box.y} {box.width} {box.height}")
        print(out.explain())
    print(sb.stats().copied_bytes, "bytes copied by the reader")


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video")
    parser.add_argument("model")
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--source", default="ffmpeg.source", help="or gstreamer.source")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder, "ring"))
        code = "import sys, decode_and_infer; decode_and_infer.infer(*sys.argv[1:])"
        command = [sys.executable, "-c", code, address, Path(args.model).absolute(), args.device]
        with subprocess.Popen(command, cwd=Path(__file__).parent):
            said = send(el.create(args.source, args.video), address)
    print(*said, sep="\n")
    print(sb.stats().copied_bytes, "bytes copied")


if __name__ == "__main__":
    main()
