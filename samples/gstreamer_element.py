# SPDX-License-Identifier: Apache-2.0
"""A detector as an element of a GStreamer pipeline.

python3 samples/gstreamer_element.py "videotestsrc pattern=ball num-buffers=24" detector.xml
"""

import argparse
from pathlib import Path
from typing import Annotated

from detect import boxes

import samebytes as sb
import samebytes.elements as el
import samebytes_gstreamer as sbg


class Detect(el.TransformInplace):
    """Runs a model on each picture, and attaches the boxes to the buffer."""

    model: Annotated[Path, el.Doc("an OpenVINO model")]
    device: Annotated[str, el.Doc("where it runs: CPU, GPU or NPU")] = "CPU"
    takes = el.Image("NV12|I420")

    def open(self, context):
        """Load the model, when the pipeline goes from READY to PAUSED."""
        self.infer = el.create("openvino.infer", self.model, self.device, postprocess=boxes)
        self.infer.open(context)

    def process(self, frame):
        """Run the model on the buffer's own memory."""
        self.infer.process(frame)

    def close(self):
        """Release the model."""
        self.infer.close()


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", help="elements that produce raw video, as for gst-launch-1.0")
    parser.add_argument("model")
    parser.add_argument("--device", default="CPU")
    args = parser.parse_args()

    sbg.register(Detect, name="detect")
    text = f"{args.source} ! detect model={args.model} device={args.device}"
    with sbg.GStreamerSource(text) as frames:
        for number, frame in enumerate(frames):
            for box in frame.regions:
                print(f"frame {number}: {box.x} {box.y} {box.width} {box.height}")
    print(sb.stats().copied_bytes, "bytes copied")


if __name__ == "__main__":
    main()
