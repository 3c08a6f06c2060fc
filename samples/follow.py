# SPDX-License-Identifier: Apache-2.0
"""Detect, classify and track objects, with ByteTrack on supervision's Detections.

python3 samples/follow.py video.mp4 detector.xml followed.mp4 found.json --device GPU
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import Any

import numpy as np
import supervision as sv
from trackers import ByteTrackTracker

import samebytes as sb
import samebytes.elements as el
from samebytes.metadata import Detection, ObjectId, SourceIdentifier, add, all_of, find


def to_supervision(frame: sb.Frame[Any]) -> sv.Detections:
    """The regions of a frame; `data["region"]` has the index of each in `frame.regions`."""
    found = all_of(frame, Detection)
    size = (frame.width, frame.height) * 2
    boxes = [(one.x_min, one.y_min, one.x_max, one.y_max) for one in found]
    return sv.Detections(
        xyxy=np.array(boxes, float).reshape(-1, 4) * size,
        confidence=np.array([1.0 if one.confidence is None else one.confidence for one in found]),
        class_id=np.array([-1 if one.label_id is None else one.label_id for one in found], int),
        data={
            "class_name": np.array([one.label for one in found], str),
            "region": np.arange(len(found)),
        },
    )


def number_regions(frame: sb.Frame[Any], tracked: sv.Detections) -> None:
    """Copy a tracker's numbers to the regions from which `to_supervision` made its boxes."""
    if tracked.tracker_id is None or not len(tracked):
        return
    for place, number in zip(tracked.data["region"], tracked.tracker_id, strict=True):
        if number >= 0:
            add(frame.regions[place], ObjectId(number))


def from_supervision(frame: sb.Frame[Any], detections: sv.Detections) -> None:
    """Add the detections of another program to a frame, as regions."""
    names = detections.data.get("class_name")
    size = (frame.width, frame.height) * 2
    sure, kind, number = detections.confidence, detections.class_id, detections.tracker_id
    for n, (left, top, right, bottom) in enumerate(detections.xyxy / size):
        label = "" if names is None else str(names[n])
        confidence = None if sure is None else sure[n]
        label_id = None if kind is None or kind[n] < 0 else kind[n]
        region = add(frame, Detection(left, top, right, bottom, label, confidence, label_id))
        if number is not None and number[n] >= 0:
            add(region, ObjectId(number[n]))


class Follow(el.TransformInplace):
    """Numbers objects, with a tracker for each stream."""

    name = "follow"
    takes = el.Image()

    def open(self, context: sb.Context | None) -> None:
        """Start without objects."""
        super().open(context)
        self._trackers: dict[int, ByteTrackTracker] = defaultdict(ByteTrackTracker)

    def process(self, frame: sb.Frame[Any]) -> None:
        """Number the regions of a frame."""
        source = find(frame, SourceIdentifier)
        tracker = self._trackers[0 if source is None else source.stream_id]
        number_regions(frame, tracker.update(to_supervision(frame)))


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video")
    parser.add_argument("detector")
    parser.add_argument("output")
    parser.add_argument("lines")
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--classifier")
    args = parser.parse_args()

    classify = []
    if args.classifier:
        found = el.create("openvino.infer", args.classifier, args.device, regions=True, batch=4)
        classify.append(found)
    pipe = el.Pipeline(
        el.create("ffmpeg.source", args.video),
        el.create("openvino.infer", args.detector, args.device),
        *classify,
        Follow(),
        el.create("opencv.draw"),
        el.create("json.sink", args.lines),
        el.create("ffmpeg.sink", args.output),
    )
    with pipe.start() as out:
        for number, frame in enumerate(out):
            for region in frame.regions:
                print(f"frame {number}: {region.box} {find(region, ObjectId)}")
    print(sb.stats().copied_bytes, "bytes copied")


if __name__ == "__main__":
    main()
