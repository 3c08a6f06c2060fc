# SPDX-License-Identifier: Apache-2.0
"""Parallel inference: threads with several requests each, synchronous and asynchronous.

Its argument is a model from "x" to "y", both uint8 [1, 4096], which doubles. It writes how many
inferences gave the right numbers, and how many were seen running, as JSON.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from samebytes_openvino import CompiledModel, InferRequest
from samebytes_openvino.intel_npu import ZeroBufferTensor, ZeroContext

THREADS, REQUESTS, ROUNDS = 4, 3, 5
SHAPE = (1, 4096)


class Lane:
    """A request with its own input and output, which the CPU fills and reads in place."""

    def __init__(self, context: ZeroContext, model: CompiledModel) -> None:
        self.x: ZeroBufferTensor = context.create_l0_host_tensor("uint8", SHAPE)
        self.y: ZeroBufferTensor = context.create_l0_host_tensor("uint8", SHAPE)
        self.y.host_array()[...] = 0
        self.request = InferRequest(model)
        self.request.set_tensor("x", self.x)
        self.request.set_tensor("y", self.y)

    def fill(self, value: int) -> None:
        """Give it an input that no other inference has at this time."""
        self.x.host_array()[...] = value

    def is_right(self, value: int) -> bool:
        """True if the output is the one for this input."""
        return bool(np.all(self.y.host_array() == 2 * value))


def synchronous(lanes: list[Lane], thread: int) -> tuple[int, int]:
    """One inference after the other. How many were right, and how many were seen running."""
    right = 0
    for turn in range(ROUNDS):
        for index, lane in enumerate(lanes):
            value = value_of(thread, index, turn)
            lane.fill(value)
            lane.request.infer()
            right += lane.is_right(value)
    return right, 0


def asynchronous(lanes: list[Lane], thread: int) -> tuple[int, int]:
    """All started, then waited for, the last one first. Counts as `synchronous`."""
    right = running = 0
    for turn in range(ROUNDS):
        for index, lane in enumerate(lanes):
            lane.fill(value_of(thread, index, turn))
            lane.request.start_async()
        running += sum(not lane.request.wait(0) for lane in lanes)
        for index, lane in reversed(list(enumerate(lanes))):
            lane.request.wait()
            right += lane.is_right(value_of(thread, index, turn))
    return right, running


def value_of(thread: int, request: int, turn: int) -> int:
    """The input of an inference: 1 to 60, another one for each."""
    return 1 + (turn * THREADS + thread) * REQUESTS + request


def main(model_path: str) -> None:
    """Every other thread waits for each inference; then they change."""
    context = ZeroContext()
    model = context.compile_model(model_path)
    lanes = [[Lane(context, model) for _ in range(REQUESTS)] for _ in range(THREADS)]
    counts = []
    with ThreadPoolExecutor(THREADS) as pool:
        for ways in ((synchronous, asynchronous), (asynchronous, synchronous)):
            working = [
                pool.submit(ways[thread % 2], lanes[thread], thread) for thread in range(THREADS)
            ]
            counts += [each.result() for each in working]
    reported = {
        "inferences": 2 * THREADS * REQUESTS * ROUNDS,
        "right": sum(right for right, _ in counts),
        "seen running": sum(running for _, running in counts),
    }
    json.dump(reported, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
