# SPDX-License-Identifier: Apache-2.0
"""Words that people use for memory types: package names, abbreviations, devices.

They serve only for suggestions, like the names of extras in the package's metadata: nothing here is
imported, and no word is accepted in place of a name. A word must suggest the same whether or not
the plugin is installed, so plugins cannot declare words.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import UnknownNameError

__all__ = ["advice_on", "is_word", "meant_by", "unknown_plugin"]

_MEANT = {
    ("opencv",): "cv cv2 mat opencv_python",
    ("opencv_umat",): "umat cv2.umat opencv:umat",
    ("ffmpeg",): "av pyav libav libavcodec avframe videoframe",
    ("gstreamer",): "gst gstsample gstbuffer gi",
    ("openvino",): "ov openvino_cpu ir",
    ("openvino:GPU", "opencl"): "gpu igpu dgpu",
    ("openvino:NPU", "level_zero"): "npu vpu",
    ("opencl",): "cl ocl pyopencl clmem cl_mem",
    ("level_zero",): "ze l0 level0 levelzero",
    ("opencl", "level_zero", "sycl"): "usm",
    ("vaapi",): "va libva va_api vasurface",
    ("dma",): "dmabuf dma_buf drm prime dma_heap udmabuf",
    ("sycl",): "dpctl dpnp oneapi dpcpp",
    ("cuda",): "nvidia cupy numba_cuda cudart",
    # difflib would suggest "cpu".
    (): "rocm metal vulkan d3d11 dx11",
}

# Arrays on the CPU, and the call that makes one of a tensor that is mapped there.
_ARRAYS = {
    "tensor.native is a numpy.ndarray": "numpy np ndarray array host ram memory memoryview buffer",
    "then torch.from_dlpack(tensor)": "torch pytorch",
    "then jax.dlpack.from_dlpack(tensor), which copies memory that does not begin at a multiple of "
    "64 bytes": "jax jnp",
    "then numpy.asarray(tensor) or the library's from_dlpack(tensor)": "tensorflow tf dlpack onnx "
    "onnxruntime paddle mxnet pil pillow",
}

_WORDS = {word: names for names, words in _MEANT.items() for word in words.split()}
_WORDS |= {word: ("cpu",) for words in _ARRAYS.values() for word in words.split()}
_HOW = {word: how for how, words in _ARRAYS.items() for word in words.split()}


def meant_by(word: str) -> tuple[str, ...] | None:
    """The memory types that `word` may mean; None if the word is not known.

    An empty tuple means that no similar name should be suggested.
    """
    return _WORDS.get(_plain(word), _WORDS.get(_plain(word.partition(":")[0])))


def is_word(word: str) -> bool:
    """True if the whole word is known, including a device that follows a colon."""
    return _plain(word) in _WORDS


def advice_on(word: str) -> str:
    """Advice for a word that means an array library: the target and the call to use; else ""."""
    how = _HOW.get(_plain(word), "")
    return f'such arrays lie in CPU memory: map("cpu"), {how}' if how else ""


def unknown_plugin(name: str, known: Iterable[str], otherwise: str = "") -> UnknownNameError:
    """The error for a name that no installed plugin has.

    Args:
        name: the name that was not found.
        known: the names of the installed plugins.
        otherwise: the advice if no command installs it.
    """
    from .distributions import install_hint  # deferred until something is missing

    meant = meant_by(name)
    names = None if meant is None else dict.fromkeys(n.partition(":")[0] for n in meant)
    known = tuple(known)
    hints = [install_hint(n) for n in (name, *(names or ())) if n not in known]
    advice = " or ".join(dict.fromkeys(filter(None, hints)))
    hint = f"(to get it: {advice})" if advice else "" if names else otherwise
    return UnknownNameError("plugin", name, known, hint, nearest=names)


def _plain(word: str) -> str:
    return word.lower().replace("-", "_").replace(" ", "_")
