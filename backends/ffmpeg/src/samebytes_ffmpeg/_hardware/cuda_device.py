# SPDX-License-Identifier: Apache-2.0
"""Devices of CUDA as FFmpeg has them: the node "ffmpeg:CUDA"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebytes import Context, Device
from samebytes.errors import LayoutError, UnknownNameError
from samebytes.formats import AudioInfo, ImageInfo
from samebytes.plugins import OwnedPointer

from .._owned import acquired, buffer_data
from . import libcuda
from .device import HardwareDevice
from .hwcontext_abi import DEVICE_CONTEXTS, AVCUDADeviceContext
from .libraries import device_types, library_for
from .objects import check_supported

if TYPE_CHECKING:
    from typing import Self

    from .._libavutil import Libavutil

__all__ = ["CUDADevice"]


class CUDADevice(HardwareDevice):
    """A CUDA context of FFmpeg's, by default the primary one of the first device.

    That is the context of torch, CuPy and CUDA's runtime, so that memory goes to them and comes
    from them in place.

    handle(): "cuda_context" and "cuda_stream" too, on which FFmpeg enqueues its work; 0 is the
    legacy default stream. Both stay FFmpeg's.
    """

    node = "ffmpeg:CUDA"
    kind = "cuda"
    pixel_format = "cuda"
    primary_handle = "cuda_ptr"
    may_be_opaque = False

    @classmethod
    def _handles_of(cls, hwctx: int) -> dict[str, int]:
        found = AVCUDADeviceContext.from_address(hwctx)
        context = found.cuda_ctx or 0
        ordinal, _ = libcuda.device_of(context)
        return {
            "cuda_context": context,
            "cuda_device": ordinal,
            "cuda_stream": found.stream or 0,
        }

    def _device_of(self, drm_node: str | None, handles: dict[str, int]) -> Device:
        return libcuda.device_of(handles["cuda_context"])[1]

    @classmethod
    def _named(cls, device: str | None) -> str:
        name = device or "0"
        if not name.isdecimal():
            known = map(str, range(libcuda.device_count()))
            raise UnknownNameError("CUDA device", name, known)
        return str(int(name))

    @classmethod
    def _open(cls, library: Libavutil, device: str | None) -> OwnedPointer:
        return cls._of_cuda_context(library, libcuda.primary_context(int(device or 0)))

    @classmethod
    def _of_cuda_context(cls, library: Libavutil, cuda_context: int) -> OwnedPointer:
        """A device of FFmpeg over a CUcontext, which stays its owner's."""
        number = library.hwdevice_find_type_by_name(cls.kind.encode())
        reference: OwnedPointer = acquired(
            library.owned.hwdevice_ctx_alloc(number), "av_hwdevice_ctx_alloc"
        )
        context = DEVICE_CONTEXTS[library.major].from_address(buffer_data(reference.address))
        AVCUDADeviceContext.from_address(context.hwctx).cuda_ctx = cuda_context
        library.checked("av_hwdevice_ctx_init(cuda)", library.hwdevice_ctx_init(reference))
        return reference

    def rules_out(self, info: ImageInfo | AudioInfo | None) -> str | None:
        """Say why FFmpeg has no frames of CUDA for such media, or return None."""
        reason = super().rules_out(info)
        if reason is None and isinstance(info, ImageInfo):
            try:
                check_supported(self, info)
            except LayoutError as error:
                reason = str(error)
        return reason

    def finish_upload(self) -> None:
        """FFmpeg enqueues the copy, and pinned memory would be read later."""
        libcuda.synchronize(self.handle("cuda_context"), self.handle("cuda_stream"))

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context for "ffmpeg:CUDA", "ffmpeg:CUDA.1", or over the CUcontext of another one.

        Args:
            device: what follows the colon.
            parent: a context with a handle "cuda_context".

        Raises:
            MissingDependencyError: no driver, no device, or no libavutil with CUDA.
            NativeError: FFmpeg cannot use it.
            UnknownNameError: there is no such device.
        """
        if parent is None:
            number = None if device is None else device.partition(".")[2]
            return cls.open(cls.kind, number)  # type: ignore[return-value]  # of this class
        used = library_for(cls.kind)
        device_types(used)  # looks at the library's structures
        handle = parent.handle("cuda_context")
        ordinal, _ = libcuda.device_of(handle)
        if libcuda.primary_context(ordinal) == handle:
            return cls.open(cls.kind, str(ordinal))  # type: ignore[return-value]  # of this class
        return cls.sharing(  # type: ignore[return-value]  # of this class
            (used.identity, cls.kind, handle), lambda: cls._of_parent(used, handle, parent)
        )

    @classmethod
    def _of_parent(cls, library: Libavutil, handle: int, parent: Context) -> Self:
        made = cls(library, cls._of_cuda_context(library, handle))
        made.parent = parent
        return made
