# SPDX-License-Identifier: Apache-2.0
"""The kernel's list of live DMA-BUFs, as Linux 6.12 prints it."""

from devtools.lab.buffers import live_buffers

BUFINFO = """
Dma-buf Objects:
size    \tflags   \tmode    \tcount   \texp_name\tino     \tname
00065536\t00000002\t00080007\t00000003\tudmabuf\t00000012\tcamera
\tAttached Devices:
Total 0 devices attached

00004096\t00000002\t00080007\t00000001\tsystem\t00000013\t<none>
\tAttached Devices:
\tvgem
Total 1 devices attached


Total 2 objects, 69632 bytes
"""


def test_each_buffer_is_reported() -> None:
    buffers = live_buffers(BUFINFO)
    assert [str(buffer) for buffer in buffers.values()] == [
        "DMA-BUF 12 of udmabuf, 65536 bytes, camera",
        "DMA-BUF 13 of system, 4096 bytes",
    ]
    assert set(buffers) == {12, 13}


def test_none() -> None:
    assert live_buffers("\nDma-buf Objects:\n\nTotal 0 objects, 0 bytes\n") == {}
