# SPDX-License-Identifier: Apache-2.0
"""Several streams through one model.

python3 samples/several_streams.py detector.xml door.mp4 yard.mp4 --device NPU
"""

import argparse
from collections import Counter

from detect import boxes

import samebytes as sb
import samebytes.elements as el
from samebytes.metadata import SourceIdentifier, find


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("videos", nargs="+")
    parser.add_argument("--device", default="CPU")
    args = parser.parse_args()

    pipe = el.Pipeline(
        [el.create("ffmpeg.source", video) for video in args.videos],
        el.create("openvino.infer", args.model, args.device, postprocess=boxes),
    )
    frames, found = Counter(), Counter()
    with pipe.start(threads=2) as out:
        for frame in out:
            camera = f"camera {find(frame, SourceIdentifier).stream_id}"
            for box in frame.regions:
                where = f"{box.x} {box.y} {box.width} {box.height}"
                print(f"{camera}, frame {frames[camera]}: {where}")
            frames[camera] += 1
            found[camera] += len(frame.regions)
        print(out.explain())
    for camera in sorted(frames):
        print(f"{camera}: {frames[camera]} frames, {found[camera]} boxes")
    print(sb.stats().copied_bytes, "bytes copied")


if __name__ == "__main__":
    main()
