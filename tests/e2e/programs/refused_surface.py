# SPDX-License-Identifier: Apache-2.0
"""A surface that the driver lays out as its environment says, and the NPU's answer to it.

Its arguments are the width and height of the picture.
"""

import sys

import samebytes as sb


def main(width: str, height: str) -> None:
    """Upload a picture, map it, and print why that was refused."""
    software = sb.context("cpu").allocate_frame("NV12", int(width), int(height))
    surface = software.map("ffmpeg:VAAPI", copy=True)
    sb.reset_stats()
    try:
        surface.map("openvino:NPU")
    except sb.errors.RouteError as error:
        sys.stdout.write(f"{error}\ncopies: {sb.stats().copies}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
