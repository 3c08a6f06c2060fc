# SPDX-License-Identifier: Apache-2.0
"""Native objects that keep their memory alive."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyopencl

from samebytes import Storage, TensorInfo

from ._library import native_error

__all__ = ["layout_of", "pinned_buffer", "pinned_image", "pinned_svm"]


def pinned_buffer(handle: int, storage: Storage, layout: TensorInfo | None) -> pyopencl.Buffer:
    """A pyopencl.Buffer with its own reference, which also keeps `storage`.

    The reference keeps the cl_mem, but not the memory that it lies in: an array, an import. A
    buffer does not know its layout either, so that is noted on it, and found when it is wrapped
    again.
    """
    try:
        native = pyopencl.Buffer.from_int_ptr(handle, retain=True)
    except pyopencl.Error as error:
        raise native_error(error) from error
    return cast("pyopencl.Buffer", _pin(native, storage, layout))


def pinned_image(handle: int, storage: Storage) -> pyopencl.Image:
    """The same for an image, which knows its layout."""
    try:
        native = pyopencl.Image.from_int_ptr(handle, True)
    except pyopencl.Error as error:
        raise native_error(error) from error
    return cast("pyopencl.Image", _pin(native, storage, None))


def pinned_svm(storage: Storage, layout: TensorInfo | None) -> Any:
    """Coarse-grained SVM as a kernel's argument: a pyopencl.SVM over an array that it keeps.

    Args:
        storage: the storage, with the address and size of the SVM.
    """
    return _pin(pyopencl.SVM(np.asarray(storage)), storage, layout)


def layout_of(native: Any) -> TensorInfo | None:
    """Return the layout noted on a native, by us or its owner, as its attribute `layout`."""
    layout = getattr(native, "layout", None)
    return layout if isinstance(layout, TensorInfo) else None


def _pin(native: Any, storage: Storage, layout: TensorInfo | None) -> Any:
    native.pin = storage
    native.layout = layout
    return native
