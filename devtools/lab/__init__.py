# SPDX-License-Identifier: Apache-2.0
"""The DMA-BUF lab: tests in a QEMU guest whose kernel has udmabuf, DMA-BUF heaps, vgem and vivid.

The guest runs on emulated CPUs, so it needs no rights and no hardware. It sees the host's files;
its own writes are lost when it ends.
"""
