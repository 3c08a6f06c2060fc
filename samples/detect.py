# SPDX-License-Identifier: Apache-2.0
"""Decode, detect, draw and encode on the same memory.

python3 samples/detect.py video.mp4 detector.xml drawn.mp4 --device GPU
"""

import argparse

import samebytes as sb
import samebytes.elements as el


def boxes(frame, outputs):
    """Regions from an SSD's output: rows of image, label, confidence, left, top, right, bottom."""
    found = []
    for _, label, confidence, *edges in outputs[0].host_array().reshape(-1, 7).tolist():
        if confidence >= 0.5:
            left, right = (round(edge * frame.width) for edge in edges[0::2])
            top, bottom = (round(edge * frame.height) for edge in edges[1::2])
            found.append(sb.Region(left, top, right - left, bottom - top, str(label), confidence))
    return found


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video")
    parser.add_argument("model")
    parser.add_argument("output")
    parser.add_argument("--device", default="CPU")
    args = parser.parse_args()

    pipe = el.Pipeline(
        el.create("ffmpeg.source", args.video),
        el.create("openvino.infer", args.model, args.device, postprocess=boxes),
        el.create("opencv.draw"),
        el.create("ffmpeg.sink", args.output),
    )
    with pipe.start() as out:
        for number, frame in enumerate(out):
            for box in frame.regions:
                print(f"frame {number}: {box.x} {box.y} {box.width} {box.height}")
        print(out.explain())
    print(sb.stats().copied_bytes, "bytes copied")


if __name__ == "__main__":
    main()
