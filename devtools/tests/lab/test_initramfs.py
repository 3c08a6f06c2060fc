# SPDX-License-Identifier: Apache-2.0
"""The archive that the kernel unpacks at its start, read back by busybox."""

import shutil
import subprocess
from pathlib import Path

import pytest

from devtools.lab.kernel import Kernel
from devtools.lab.machine import initramfs


def test_it_has_all_that_init_needs(tmp_path: Path) -> None:
    busybox = shutil.which("busybox")
    if busybox is None:
        pytest.skip("missing package busybox: apt-get install busybox-static")
    module, packed, unpacked = (tmp_path / name for name in ("00-vgem.ko", "packed", "unpacked"))
    module.write_bytes(b"12345")
    packed.mkdir()
    unpacked.mkdir()
    kernel = Kernel("6.12", tmp_path / "vmlinuz", (module,))
    archive = initramfs(kernel, Path(busybox), packed)
    subprocess.run([busybox, "cpio", "-i"], cwd=unpacked, input=archive, check=True)
    assert (unpacked / "modules" / "00-vgem.ko").read_bytes() == b"12345"
    assert (unpacked / "bin" / "busybox").read_bytes() == Path(busybox).read_bytes()
    assert (unpacked / "bin" / "sh").readlink() == Path("busybox")
    for program in ("init", "bin/busybox"):
        assert (unpacked / program).stat().st_mode & 0o777 == 0o755
