# SPDX-License-Identifier: Apache-2.0
"""The rule that a mapping keeps an element type and its bytes, or refuses it, for all types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._core.edges.context import Context
from ..._core.memory.tensor import Tensor
from ..._cpu.context import CPU
from ..._dtypes import ALL, DType
from ..._stats import reset_stats
from ...errors import RouteError, SamebytesError
from .book import BrokenRule, rule

__all__ = ["every_dtype"]

_Array = np.ndarray[Any, Any]


@rule(
    "5.3",
    "an element type is kept, or refused by name",
    means="values of some types are read as values of another type",
    do="connect() makes a native object of item.dtype, or raises Refused where the framework has "
    "no such type; a type that numpy lacks is carried by dtype.carrier, and returned as TensorInfo",
)
def every_dtype(
    source: Context,
    shape: tuple[int, ...],
    map_: Callable[[Tensor], Tensor],
    *,
    served: Sequence[str] | None = None,
    look: Callable[[Any], _Array] | None = None,
) -> str:
    """Map a tensor of each element type.

    Args:
        source: the context of the tensors. Types that it does not have are left out.
        shape: the shape of the tensors.
        map_: the mapping, for reading.
        served: the types that are declared as served, or None. Types that numpy lacks and that are
            not among them may be served or refused.
        look: returns the elements of a native object by the target framework's own means, if there
            are any besides samebytes'.

    Returns:
        The names of the types that were kept.

    Raises:
        BrokenRule: a type became another one, bytes changed, a refusal has no reason, or a
            declaration is not true.
    """
    complaints: list[str] = []
    kept: list[str] = []
    try:
        _try_all(source, shape, map_, served, look, complaints, kept)
    finally:
        reset_stats()  # copies that filled the tensors are not the mapping's
    if complaints:
        raise BrokenRule("; ".join(complaints))
    return ", ".join(kept)


def _try_all(
    source: Context, shape: tuple[int, ...], map_: Callable[[Tensor], Tensor],
    served: Sequence[str] | None, look: Callable[[Any], _Array] | None,
    complaints: list[str], kept: list[str],
) -> None:  # fmt: skip
    for element in ALL:
        item, values = _filled(source, shape, element)
        if item is None:
            continue
        declared = None if served is None else element.name in served
        try:
            mapped = map_(item)
        except SamebytesError as error:
            if declared:
                complaints.append(f"{element} is declared to be served, and refused: {error}")
            elif isinstance(error, RouteError) and not getattr(error, "reasons", ("",)):
                complaints.append(f"{element} is refused without a reason")
            continue
        except Exception as error:
            complaints.append(f"{element} raises {type(error).__name__}: {error}")
            continue
        if declared is False and element.numpy is not None:
            complaints.append(f"{element} is not declared to be served, and is mapped")
        wrong = _what_changed(element, mapped, values, look)
        if wrong is None:
            kept.append(element.name)
        else:
            complaints.append(f"{element}: {wrong}")


def _filled(source: Context, shape: tuple[int, ...], element: DType) -> tuple[Tensor | None, bytes]:
    """A tensor of `source` whose bytes all differ from their neighbours, and these bytes."""
    for place in (source, CPU):
        try:
            tensor = place.allocate(shape, element)
            with tensor.map("cpu", "w") as view:
                values = _fill(view.host_array(), element)
            return (tensor if place is source else tensor.map(source, copy=True)), values
        except SamebytesError:  # it has no such elements, or the CPU cannot write to it
            continue
    return None, b""


def _fill(array: _Array, element: DType) -> bytes:
    # Dense first: the rows of the array may be padded.
    raw = np.arange(array.nbytes) % (2 if element.kind == "bool" else 251)
    values = raw.astype(np.uint8).view(array.dtype).reshape(array.shape)
    array[...] = values
    return values.tobytes()


def _what_changed(
    element: DType, mapped: Tensor, values: bytes, look: Callable[[Any], _Array] | None
) -> str | None:
    """A sentence on what the mapping changed, or None."""
    if mapped.dtype is not element:
        return f"it became {mapped.dtype}"
    rewrapped = _rewrapped(mapped.native)
    if rewrapped is not None and str(rewrapped) not in (element.name, element.carrier.name):
        return f"the native object holds {rewrapped}"
    if element.numpy is not None and str(rewrapped or element) != element.name:
        return f"the native object holds {rewrapped}"
    arrays = [("its array", _host_array(mapped))]
    if isinstance(mapped.native, np.ndarray):
        arrays.append(("the native array", mapped.native))
    if look is not None and element.numpy is not None:
        seen = look(mapped.native)
        if seen.dtype != element.numpy:
            return f"the framework sees {_spelt(seen.dtype)}"
        arrays.append(("what the framework sees", np.array(seen)))
    for what, array in arrays:
        if array is None:
            continue
        # numpy's names are alike in both byte orders; its comparison is not.
        if array.dtype != element.carrier and array.dtype.name != element.name:
            return f"{what} is of {_spelt(array.dtype)}"
        if np.ascontiguousarray(array).tobytes() != values:
            return f"the bytes of {what} are others"
    return None


def _spelt(dtype: np.dtype[Any]) -> str:
    return dtype.name if dtype.isnative else f"{dtype.name} in foreign byte order"


def _rewrapped(native: Any) -> DType | None:
    """The element type that the native object has by itself, where samebytes can read it."""
    from ... import tensor

    try:
        return tensor(native).dtype
    except (SamebytesError, NotImplementedError):
        return None


def _host_array(mapped: Tensor) -> _Array | None:
    try:
        return mapped.host_array()
    except BufferError:
        pass
    try:
        return mapped.map("cpu", copy=True).host_array()
    except SamebytesError:
        return None
