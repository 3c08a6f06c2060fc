# SPDX-License-Identifier: Apache-2.0
"""Contexts of devices."""

from typing import assert_type

import samebytes as sb
from samebytes_dma import DMAContext, DMATensor
from samebytes_gpu_opencl import OpenCLContext, OpenCLFrame, OpenCLTensor
from samebytes_npu_level_zero import LevelZeroContext, LevelZeroTensor
from samebytes_openvino.intel_gpu import ClContext
from samebytes_vaapi import VAAPIContext, VAFrame

gpu = sb.context(OpenCLContext)
assert_type(gpu, OpenCLContext)
assert_type(gpu.allocate((4, 6)), OpenCLTensor)
assert_type(gpu.allocate_frame("NV12", 64, 32), OpenCLFrame)
print(gpu.native.devices)

remote = gpu.derive(ClContext)
assert_type(remote, ClContext)
print(gpu.allocate((64,)).map(remote).native.get_device_name())

surface = sb.context(VAAPIContext).allocate_frame("NV12", 64, 32)
assert_type(surface, VAFrame)
print(surface.native.image)
assert_type(surface.map(DMAContext).planes[0], DMATensor)
npu = sb.context(LevelZeroContext)
assert_type(sb.tensor(bytearray(64)).map(npu, copy=True), LevelZeroTensor)
