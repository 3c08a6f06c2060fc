# SPDX-License-Identifier: Apache-2.0
"""The software GPU: our OpenCL layer over Intel's OpenCL runtime for CPUs.

The runtime comes in Python packages, whose libraries lie in <prefix>/lib, where no loader looks.
"""

from __future__ import annotations

import platform
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from samebytes_softdevices._libraries import library
from samebytes_softdevices._plan import Plan, SoftDeviceError
from samebytes_softdevices._private_folder import private_folder

__all__ = ["LAYER", "plan"]

LAYER = "libsoftgpu.so"
# The layer corrects and hides behaviour of these versions; the extra "gpu" pins the same ones.
_VERSIONS = {"intel-opencl-rt": "2026.2.0", "intel-cmplr-lib-rt": "2026.2.0", "tbb": "2023.2.0"}
_PACKAGES = " ".join(f"{name}=={version}" for name, version in _VERSIONS.items())
# The libraries that the loader links to without a path, in the order of dependence.
_LOADER_NEEDS = ("libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so")


def plan() -> Plan:
    """Plan for the software GPU.

    Raises:
        SoftDeviceError: the layer was not built, or a package of the extra "gpu" is missing or of
            another version.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise SoftDeviceError(
            "the software GPU needs Linux on x86-64: Intel's OpenCL runtime for CPUs exists for "
            f"no other platform; this is {platform.system()} on {platform.machine()}"
        )
    layer = library(LAYER)
    opencl, compiler, tbb = (_installed(name) for name in _VERSIONS)
    runtime = _file(opencl, "libintelocl.so")
    loader = _file(opencl, "libOpenCL.so.1")
    libtbb = _file(tbb, "libtbb.so.12")
    needs = {name: _file(compiler, name) for name in _LOADER_NEEDS}
    folder = private_folder(
        # Links to these few only, because <prefix>/lib may hold libraries that must not come first.
        links={"lib/libOpenCL.so.1": loader, **{f"lib/{n}": path for n, path in needs.items()}},
        # The .icd files of the package name a path that nothing fills in.
        files={"icd/software.icd": f"{runtime}\n"},
    )
    return Plan(
        environment={
            # ocl-icd (in pyopencl) and Khronos' loader (of the package) each read one of these.
            "OCL_ICD_VENDORS": str(folder / "icd"),
            "OCL_ICD_FILENAMES": str(runtime),
            "OPENCL_LAYERS": str(layer),
            "OPENCV_OPENCL_RUNTIME": str(loader),
            "OPENCV_OPENCL_DEVICE": ":GPU:",
        },
        search=(folder / "lib",),
        preload=tuple(needs.values()),
        # OpenVINO brings an older TBB, with which the runtime silently fails to load. pyopencl
        # brings its own loader; if a loader gets objects of another one before it has listed
        # platforms itself, its calls bypass the layer. The loader's own dependencies are not
        # here: one has the names of libm's functions, and must come after libm.
        interpose=(libtbb, loader),
        describes="gpu (OpenCL on the CPU)",
    )


def _installed(name: str) -> Distribution:
    try:
        found = distribution(name)
    except PackageNotFoundError as error:
        raise SoftDeviceError(f"the package {name} is missing: pip install {_PACKAGES}") from error
    if found.version != _VERSIONS[name]:
        raise SoftDeviceError(
            f"the software GPU needs {name} {_VERSIONS[name]}, found {found.version}: "
            f"pip install {_PACKAGES}"
        )
    return found


def _file(package: Distribution, name: str) -> Path:
    for file in package.files or ():
        if file.name == name:
            path = Path(str(package.locate_file(file)))
            return path.parent.resolve() / name
    raise SoftDeviceError(
        f"the package {package.name} has no {name}: pip install --force-reinstall "
        f"{package.name}=={package.version}"
    )
