# SPDX-License-Identifier: Apache-2.0
"""Devices of FFmpeg (AVHWDeviceContext) as contexts: nodes such as "ffmpeg:VAAPI"."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from ctypes import byref, c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from samebytes import Context, Device
from samebytes.errors import LayoutError, NativeError, UnknownNameError
from samebytes.formats import AudioInfo, ImageFormat, ImageInfo
from samebytes.plugins import (
    ContextRegistry,
    HandleKey,
    Lock,
    OwnedPointer,
    native_pointer,
)

from .._avutil_abi import AVBufferRef
from .._libavutil import Libavutil
from .._owned import acquired, buffer_data
from .described import snapshot
from .hwcontext_abi import DEVICE_CONTEXTS, AVDRMDeviceContext, AVVAAPIDeviceContext
from .libraries import device_types, library_at, library_for, system_library
from .nodes import refusal_of
from .objects import FFmpegHardwareFrame, FFmpegHardwarePlane, HardwareFramePool, check_supported
from .transfer import upload

if TYPE_CHECKING:
    from typing import Self, Unpack

    from samebytes.plugins import FrameSays

__all__ = ["DRMDevice", "HardwareDevice", "VAAPIDevice"]

# Pools keep the surfaces of frames that are gone, so that few are remembered.
_POOLS = 4
_pointer_at = c_void_p.from_address
_BUFFER_DATA = AVBufferRef.data.offset

HandleKey(
    "av_hwdevice", "AVHWDeviceContext*", "context", "one reference is the context's"
).register()

# (which libavutil, AVHWDeviceContext*) -> its context, while it lives. The context holds a
# reference to the device, so that the address is not used again meanwhile.
_devices: ContextRegistry[HardwareDevice] = ContextRegistry()
# (which libavutil, type, name) -> what `open` made.
_opened: ContextRegistry[HardwareDevice] = ContextRegistry()
# Guards the pools of all devices, for no longer than a look.
_lock = Lock()


class HardwareDevice(Context[FFmpegHardwarePlane, FFmpegHardwareFrame]):
    """One AVHWDeviceContext of FFmpeg, and the libavutil that it belongs to.

        device = HardwareDevice.open("vaapi", "/dev/dri/renderD128")
        frame = device.allocate_frame("NV12", 1920, 1080)
        frame = device.upload(image)                # from anywhere; a counted copy

    Frames that FFmpeg decoded on a device find its context by themselves.

    handle(): "av_hwdevice" (the AVHWDeviceContext*), and what its type has.

    Attributes:
        library: the libavutil that it belongs to.
    """

    memory_type = "ffmpeg"
    tensor_class = FFmpegHardwarePlane
    frame_class = FFmpegHardwareFrame
    may_be_opaque = True

    kind: ClassVar[str]
    """FFmpeg's name of the type of device."""
    pixel_format: ClassVar[str]
    """FFmpeg's name of the pixel format of its frames."""

    def __init__(
        self, library: Libavutil, reference: OwnedPointer, drm_node: str | None = None
    ) -> None:
        self.library = library
        self._reference = reference
        self._pools: OrderedDict[ImageInfo, HardwareFramePool] = OrderedDict()
        address = buffer_data(reference.address)
        context = DEVICE_CONTEXTS[library.major].from_address(address)
        handles = {"av_hwdevice": address, **self._handles_of(context.hwctx)}
        super().__init__(self._device_of(drm_node, handles), handles=handles)

    def _device_of(self, drm_node: str | None, handles: dict[str, int]) -> Device:
        return Device("GPU", drm_node or "", drm_node=drm_node)

    @classmethod
    def _handles_of(cls, hwctx: int) -> dict[str, int]:
        raise NotImplementedError

    @classmethod
    def open(
        cls, kind: str, device: str | None = None, *, library: str | None = None
    ) -> HardwareDevice:
        """Open a device, or find the living context of one that was opened so.

        Args:
            kind: "vaapi", "drm" or "cuda".
            device: a DRM node ("/dev/dri/renderD128") or, for VA-API, an X11 display; for CUDA the
                number of the device, whose primary context it will be. By default the first one
                that FFmpeg finds; of "drm" then none at all, which suffices for frames that have
                their own descriptors.
            library: path or soname of a libavutil. By default PyAV's own if it was built with such
                devices, else that of the system.

        Returns:
            The context of the device: the living one, if there is one.

        Raises:
            MissingDependencyError: no libavutil that has such devices; no driver, or no permission.
            NativeError: FFmpeg cannot open the device.
            UnknownNameError: no such kind, or no such node.
        """
        make = _class_of(kind)
        used = library_for(kind) if library is None else library_at(library)
        if kind not in device_types(used):
            raise UnknownNameError(f"device type of {used.path}", kind, device_types(used))
        device = make._named(device)
        return cls.sharing((used.identity, kind, device), partial(make._opened_on, used, device))

    @staticmethod
    def sharing(key: tuple[object, ...], make: Callable[[], HardwareDevice]) -> HardwareDevice:
        """The living context that was made for a key, or the one that `make()` makes.

        Args:
            key: the identity of the library, and what the device is made from.
            make: opens the device.
        """
        found = _opened.find_or_make(key, make)
        return _devices.enter((key[0], found.handle("av_hwdevice")), found)

    @classmethod
    def _named(cls, device: str | None) -> str | None:
        """The one name of a device, of all that mean it."""
        return device

    @classmethod
    def _opened_on(cls, library: Libavutil, device: str | None) -> HardwareDevice:
        return cls(library, cls._open(library, device), _drm_node(device))

    @classmethod
    def _open(cls, library: Libavutil, device: str | None) -> OwnedPointer:
        pointer = library.owned.BufferPointer()
        name = None if device is None else os.fsencode(device)
        number = library.hwdevice_find_type_by_name(cls.kind.encode())
        call = f"av_hwdevice_ctx_create({cls.kind}, {device})"
        library.checked(call, library.hwdevice_ctx_create(byref(pointer), number, name, None, 0))
        return acquired(pointer, call)

    @classmethod
    def from_pointer(cls, pointer: Any, library: str | None = None) -> HardwareDevice:
        """The context of an AVHWDeviceContext that another library made.

        Args:
            pointer: an AVBufferRef* of it, as an int, a `ctypes.c_void_p` or a PyCapsule. It stays
                its owner's: a reference is taken.
            library: path or soname of its libavutil; that of the system by default.

        Raises:
            LayoutError: there is no such reference at the address.
            UnknownNameError: it is of a type that is not known here.
            UnsupportedObjectError: `pointer` is not a pointer.
        """
        used = system_library() if library is None else library_at(library)
        address = native_pointer(pointer, "an AVBufferRef*")
        data = snapshot(AVBufferRef, address, "an AVBufferRef").data or 0
        context: Any = snapshot(DEVICE_CONTEXTS[used.major], data, "an AVHWDeviceContext")
        if not context.av_class or not context.hwctx:
            raise LayoutError(f"there is no AVHWDeviceContext behind the buffer at {address:#x}")
        device_types(used)  # looks at the library's structures
        return cls.over(used, address)

    @staticmethod
    def over(library: Libavutil, reference: int) -> HardwareDevice:
        """The living context of a device that an AVBufferRef* refers to, or a new one.

        Args:
            library: the libavutil that made the reference.
            reference: the address of the AVBufferRef; it stays the caller's.

        Raises:
            UnknownNameError: a type of device that is not known here.
        """
        address = _pointer_at(reference + _BUFFER_DATA).value or 0  # buffer_data(), for each frame
        key = library.identity, address
        found = _devices.find(key)
        if found is not None:
            return found
        context = DEVICE_CONTEXTS[library.major].from_address(address)
        name = library.hwdevice_get_type_name(context.type)
        make = _class_of(name.decode() if name else f"number {context.type}")
        return _devices.find_or_make(key, lambda: make(library, library.owned.reference(reference)))

    @classmethod
    def create(cls, device: str | None, parent: Context | None) -> Self:
        """The context for "ffmpeg:VAAPI", or "ffmpeg:VAAPI.renderD128" for /dev/dri/renderD128."""
        name = None
        if device is not None:
            _, _, node = device.partition(".")
            name = f"/dev/dri/{node}"
        elif cls.kind == "vaapi":
            name = os.environ.get("SAMEBYTES_VAAPI_DEVICE") or None
        return cls.open(cls.kind, name)  # type: ignore[return-value]  # the kind is of this class

    @property
    def reference(self) -> int:
        """AVBufferRef* of the AVHWDeviceContext; it stays the context's."""
        return self._reference.address

    def pool(
        self, format_: str | ImageFormat, width: int, height: int, size: int = 0
    ) -> HardwareFramePool:
        """A pool of frames (AVHWFramesContext), whose surfaces are used again.

        Args:
            format_: an image format.
            width, height: in pixels.
            size: how many surfaces there are; 0 for as many as are wanted.

        Raises:
            LayoutError: the device has no such frames; the message says which.
            UnsupportedObjectError: FFmpeg cannot allocate memory of this type.
        """
        self.check_open()
        return HardwareFramePool(self, ImageInfo.of(format_, width, height), size)

    def rules_out(self, info: ImageInfo | AudioInfo | None) -> str | None:
        """Say why no frame of the device can be such media, or return None."""
        if not isinstance(info, ImageInfo):
            return "frames of a device are images"
        try:
            check_supported(self, info)
        except LayoutError as reason:
            return str(reason)
        return None

    def allocate_frame(
        self, format: str | ImageFormat, width: int, height: int, **says: Unpack[FrameSays]
    ) -> FFmpegHardwareFrame:
        """A new frame on the device, from a pool of its format and size.

        Args:
            says: `pts`, `time_base`, `duration` and `metadata`, as for `samebytes.frame`.

        Raises:
            LayoutError: the device has no such frames.
            UnsupportedObjectError: FFmpeg cannot allocate memory of this type.
        """
        return self.pool_of(ImageInfo.of(format, width, height)).allocate()

    def upload(self, image: Any) -> FFmpegHardwareFrame:
        """A copy of an image on the device; it is counted in `samebytes.stats()`.

        Args:
            image: a samebytes frame, or what samebytes.frame() takes.

        Raises:
            NoRouteError: no route leads from the image's memory to the device, or the device does
                not support frames of this format.
        """
        import samebytes

        frame = image if isinstance(image, samebytes.Frame) else samebytes.frame(image)
        if frame.context.node != "ffmpeg":
            frame = frame.map("ffmpeg", copy=True)
        return upload(frame, self)  # type: ignore[return-value]  # of this context's class

    def finish_upload(self) -> None:
        """Return when FFmpeg has read what was just uploaded, which may be changed from then on."""

    def pool_of(self, image: ImageInfo) -> HardwareFramePool:
        """The pool of such images, made once; the least used is forgotten.

        Args:
            image: the format and size.
        """
        with _lock:
            pool = self._pools.pop(image, None)
        if pool is None:
            pool = HardwareFramePool(self, image, 0)
        with _lock:
            self._pools[image] = pool
            dropped = self._pools.popitem(last=False) if len(self._pools) > _POOLS else None
        del dropped  # after the lock, since FFmpeg gives surfaces back
        return pool


class VAAPIDevice(HardwareDevice):
    """A device of VA-API. handle(): "va_display" too, which stays FFmpeg's."""

    node = "ffmpeg:VAAPI"
    kind = "vaapi"
    pixel_format = "vaapi"
    primary_handle = "va_surface"

    @classmethod
    def _handles_of(cls, hwctx: int) -> dict[str, int]:
        return {"va_display": AVVAAPIDeviceContext.from_address(hwctx).display or 0}

    @classmethod
    def _open(cls, library: Libavutil, device: str | None) -> OwnedPointer:
        try:
            return super()._open(library, device)
        except NativeError as error:
            refusal = refusal_of(device, error.code)
            if refusal is None:
                raise
            raise refusal from error


class DRMDevice(HardwareDevice):
    """A device of DRM. handle(): "drm_fd" too, where it has one; it stays FFmpeg's.

    FFmpeg allocates no such frames: they come from its decoders, or from memory of "dma".
    """

    node = "ffmpeg:DRM"
    kind = "drm"
    pixel_format = "drm_prime"
    primary_handle = "dma_fd"

    @classmethod
    def _handles_of(cls, hwctx: int) -> dict[str, int]:
        fd = AVDRMDeviceContext.from_address(hwctx).fd
        return {"drm_fd": fd} if fd >= 0 else {}

    @classmethod
    def _open(cls, library: Libavutil, device: str | None) -> OwnedPointer:
        if device is not None:
            return super()._open(library, device)
        number = library.hwdevice_find_type_by_name(cls.kind.encode())
        reference: OwnedPointer = acquired(
            library.owned.hwdevice_ctx_alloc(number), "av_hwdevice_ctx_alloc"
        )
        context = DEVICE_CONTEXTS[library.major].from_address(buffer_data(reference.address))
        # Unless it is set, it is descriptor 0.
        AVDRMDeviceContext.from_address(context.hwctx).fd = -1
        library.checked("av_hwdevice_ctx_init(drm)", library.hwdevice_ctx_init(reference))
        return reference


def _class_of(kind: str) -> type[HardwareDevice]:
    from .cuda_device import CUDADevice

    classes: dict[str, type[HardwareDevice]] = {
        "vaapi": VAAPIDevice,
        "drm": DRMDevice,
        "cuda": CUDADevice,
    }
    try:
        return classes[kind]
    except KeyError:
        raise UnknownNameError("device type of FFmpeg", kind, classes) from None


def _drm_node(device: str | None) -> str | None:
    return device if device and device.startswith("/dev/dri/") else None
