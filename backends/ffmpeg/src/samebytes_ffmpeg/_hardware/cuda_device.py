# SPDX-License-Identifier: Apache-2.0
"""Devices of CUDA as FFmpeg has them: the node "ffmpeg:CUDA"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from av import VideoFrame

from samebytes import Access, Context, Device, Tensor
from samebytes.errors import ExportError, UnknownNameError
from samebytes.plugins import OwnedPointer, PointerArray

from .._avutil import PYAV
from .._owned import acquired, buffer_data
from .._pyav import FRAME_POINTER, pointer_at
from . import libcuda
from .cuda_streams import streams_ordered_by
from .device import HardwareDevice
from .frame import described_and_held
from .hwcontext_abi import DEVICE_CONTEXTS, AVCUDADeviceContext
from .libraries import device_types, library_for
from .objects import FFmpegHardwareFrame, FFmpegHardwarePlane, is_writable

if TYPE_CHECKING:
    from typing import Self

    from .._libavutil import Libavutil

__all__ = ["CUDADevice", "CUDAPlane"]

_CUDA = 2
"""kDLCUDA of DLDeviceType, dlpack/dlpack.h."""

_is_writable = PYAV.frame_is_writable
_slot: Any = Tensor.readonly  # type: ignore[misc]  # the slot itself


class CUDAPlane(FFmpegHardwarePlane):
    """One plane of a frame in CUDA memory. `native` is a HardwarePlane.

    It is a DLPack producer for array libraries on the GPU: `torch.from_dlpack(frame[0])`. If the
    consumer's stream is the one on which FFmpeg made the frame (`open(queue=)`), or the default
    stream, which CUDA orders with those of decoders, nothing has to be ordered, neither before the
    export nor before FFmpeg's next use of the memory. For other streams it is exported as
    `frame.map("cuda")` is.
    """

    __slots__ = ()

    def __dlpack_device__(self) -> tuple[int, int]:
        context: Any = self.context  # a CUDADevice
        if not libcuda.is_primary(context.ordinal, context.cuda_context):
            raise ExportError(
                "the memory belongs to a CUDA context of its own, and a DLPack consumer would use "
                "it in the primary context of the device: pass the pointer, handle('cuda_ptr')"
            )
        return _CUDA, context.ordinal

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        native = self.native
        context: Any = self.context
        known = stream is None or type(stream) is int
        if not (known and stream in context.ordered) or dl_device is not None or copy:
            access: Access = "r" if self.readonly else "rw"
            mapped = FFmpegHardwareFrame.wrap(native.frame).map("cuda", access)
            return mapped[native.index].__dlpack__(
                stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
            )
        frame = native.frame
        # This runs for each frame of each decoder. Mostly FFmpeg's answer suffices, without calls.
        readonly = _slot.__get__(self) or not (
            (type(frame) is VideoFrame and _is_writable(pointer_at(id(frame) + FRAME_POINTER)))
            or is_writable(frame)
        )
        found, keep = described_and_held(frame)
        address, info = found.planes[native.index]
        array = PointerArray(context, address, info, "device", keep, readonly)
        if not libcuda.is_primary(context.ordinal, context.cuda_context):
            self.__dlpack_device__()  # says why not
        device = _CUDA, context.ordinal
        return array.dlpack_capsule(device, max_version=max_version, readonly=readonly)


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
    tensor_class = CUDAPlane

    def __init__(
        self, library: Libavutil, reference: OwnedPointer, drm_node: str | None = None
    ) -> None:
        super().__init__(library, reference, drm_node)
        # For planes, which ask at each export: the number of the GPU, the CUcontext, and the
        # streams of consumers, as DLPack names them, that need no event.
        self.ordinal = self.handle("cuda_device")
        self.cuda_context = self.handle("cuda_context")
        self.ordered = streams_ordered_by(self.handle("cuda_stream"))

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

    def finish_upload(self) -> None:
        """Wait for the copy: FFmpeg only enqueues it, and pinned memory would be read later."""
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
