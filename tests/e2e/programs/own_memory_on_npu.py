# SPDX-License-Identifier: Apache-2.0
"""Own memory, by its descriptor, into NPU inference and back.

Memory that this program allocates in the plugin's Level Zero context is exported, made a remote
tensor, filled by another process through its descriptor, inferred on, and the result is read
through the own pointer and through its descriptor.

Its argument is a model from "x" to "y", both uint8 [1, 4096]. It writes the addresses of the own
memory and of the remote tensors, and the numbers of the descriptors, as JSON.
"""

import json
import mmap
import subprocess
import sys

import samebytes
from samebytes_npu_level_zero import LevelZeroContext, LevelZeroTensor
from samebytes_openvino import InferRequest
from samebytes_openvino.intel_npu import TensorType, ZeroContext

SHAPE = (1, 4096)
# What the other process runs. It has nothing of samebytes, and knows the memory by its descriptor.
WRITER = """
import mmap, sys
with mmap.mmap(int(sys.argv[1]), 4096) as memory:
    memory[:] = bytes(number % 100 for number in range(4096))
"""


def main(model_path: str) -> None:
    """Do it."""
    context = ZeroContext()
    level_zero = context.derive("level_zero")
    assert isinstance(level_zero, LevelZeroContext)
    assert level_zero.handle("ze_context") == context.get()
    own_input: LevelZeroTensor = level_zero.allocate(SHAPE, exportable=True)
    own_output: LevelZeroTensor = level_zero.allocate(SHAPE, exportable=True)
    own_input.host_array()[...] = 0

    with own_input.export_fd() as input_fd, own_output.export_fd() as output_fd:
        x = context.create_tensor("uint8", SHAPE, input_fd)
        y = context.create_tensor("uint8", SHAPE, output_fd, tensor_type=TensorType.OUTPUT)
        request = InferRequest(context.compile_model(model_path))
        request.set_tensor("x", x)
        request.set_tensor("y", y)

        number = input_fd.fileno()
        writer = [sys.executable, "-c", WRITER, str(number)]
        subprocess.run(writer, pass_fds=[number], check=True)
        assert own_input.host_array()[0, :3].tolist() == [0, 1, 2]

        request.start_async()
        request.wait()

        expected = [2 * (number % 100) for number in range(SHAPE[1])]
        assert own_output.host_array()[0].tolist() == expected, "through the own pointer"
        with mmap.mmap(output_fd.fileno(), SHAPE[1], prot=mmap.PROT_READ) as memory:
            assert list(memory[:]) == expected, "through its descriptor"
        descriptors = [input_fd.fileno(), output_fd.fileno()]

    assert samebytes.stats().copies == 0
    assert [binding.placement for binding in request.bindings()] == ["in place", "in place"]
    own = [tensor.handle("usm_ptr") for tensor in (own_input, own_output)]
    json.dump({"own": own, "remote": [x.get(), y.get()], "fds": descriptors}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
