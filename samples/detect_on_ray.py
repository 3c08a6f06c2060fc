# SPDX-License-Identifier: Apache-2.0
"""Decode here, detect on a Ray cluster.

python3 samples/detect_on_ray.py video.mp4 detector.xml --resource NPU
"""

import argparse
from pathlib import Path

import ray
from detect import boxes

import samebytes.elements as el
import samebytes_ray as sbr


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video")
    parser.add_argument("model", help="path of the model on each node")
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--resource", help="resource that a node needs to run the model")
    parser.add_argument("--address", default="auto", help="address of the cluster")
    args = parser.parse_args()

    ray.init(address=args.address, log_to_driver=False)
    model = Path(args.model).absolute()
    pipe = sbr.Pipeline(
        el.create("ffmpeg.source", args.video),
        sbr.Actor(
            el.create("openvino.infer", model, args.device, postprocess=boxes),
            resources={args.resource: 1} if args.resource else {},
        ),
    )
    with pipe.start() as out:
        for number, frame in enumerate(out):
            for box in frame.regions:
                print(f"frame {number}: {box.x} {box.y} {box.width} {box.height}")
        print(out.explain())
    for edge, (copies, nbytes) in out.copies().items():
        print(f"{edge}: {copies} planes copied, {nbytes} bytes")


if __name__ == "__main__":
    main()
