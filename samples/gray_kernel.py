# SPDX-License-Identifier: Apache-2.0
"""An OpenCL kernel turns pictures gray in place, before a model sees them.

python3 samples/gray_kernel.py detector.xml gray.mkv --device CPU
"""

import argparse
from fractions import Fraction

import pyopencl as cl
from detect import boxes

import samebytes as sb
import samebytes.elements as el

KERNEL = """
kernel void gray(global uchar *bgr) {
    size_t n = 3 * get_global_id(0);
    uchar y = (29 * bgr[n] + 150 * bgr[n + 1] + 77 * bgr[n + 2]) >> 8;
    bgr[n] = bgr[n + 1] = bgr[n + 2] = y;
}
"""


@el.source(gives=el.Image("BGR", memory="cpu", width=256, height=192))
def camera(*, count: int = 24):
    """A bright square that moves over a coloured background, in whole pages of memory."""
    for number in range(count):
        frame = sb.context("cpu").allocate_frame("BGR", 256, 192)
        picture = frame.planes[0].native
        picture[...] = (90, 20, 10)
        picture[48:96, 16 + 4 * number : 80 + 4 * number] = (150, 230, 250)
        frame.meta.pts, frame.meta.time_base = number, Fraction(1, 30)
        yield frame


class Gray(el.TransformInplace):
    """Runs the kernel on the frame's own bytes."""

    takes = el.Image("BGR", memory="opencl", access="rw")

    def open(self, context):
        """Compile the kernel on the context of the frames."""
        self.queue = context.queue
        self.kernel = cl.Program(context.native, KERNEL).build().gray

    def process(self, frame):
        """Enqueue the kernel, and wait for it."""
        self.kernel(self.queue, (frame.width * frame.height,), None, frame.planes[0].native).wait()


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("output")
    parser.add_argument("--device", default="CPU")
    args = parser.parse_args()

    pipe = el.Pipeline(
        camera(),
        Gray(),
        el.create("openvino.infer", args.model, args.device, postprocess=boxes),
        el.create("opencv.draw", color=(255, 255, 255)),
        el.create("ffmpeg.sink", args.output, codec="libx264rgb"),
    )
    # Without threads: the kernel and the model take turns on a GPU anyway.
    with pipe.start(threads=0) as out:
        for number, frame in enumerate(out):
            for box in frame.regions:
                print(f"frame {number}: {box.x} {box.y} {box.width} {box.height}")
        print(out.explain())
    print(sb.stats().copied_bytes, "bytes copied")


if __name__ == "__main__":
    main()
