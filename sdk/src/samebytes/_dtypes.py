# SPDX-License-Identifier: Apache-2.0
"""Element types: one name, one width, and the equivalents in numpy and DLPack."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

from samebytes._frozen import frozen
from samebytes.errors import LayoutError, UnknownNameError, UnsupportedObjectError

__all__ = ["ALL", "BY_NUMPY", "DType", "Kind", "dtype", "from_dlpack_code", "from_numpy"]

Kind = Literal["bool", "int", "uint", "float", "bfloat", "complex", "float8", "float4", "nf4"]


@frozen(eq=False, repr=False)
class DType:
    """One element type. There is one object for each name, so `is` compares them.

    Get them from `dtype()`; str() gives the name.

    Attributes:
        name: as in numpy, ml_dtypes and OpenVINO ("uint8", "bfloat16", "nf4").
        bits: width of one element.
        kind: family; bfloat16 and the 8- and 4-bit floats have their own families.
        dlpack_code: DLDataTypeCode (dlpack.h v1.1); None where DLPack has none.
        numpy: the numpy dtype; None where numpy has none.
        carrier: the numpy dtype that carries the bits in an ndarray: `numpy` where there is one,
            else an unsigned integer of the same width, for packed types uint8.
        itemsize: bytes of one element; None for packed types.
        packed: several elements share one byte.
    """

    name: str
    bits: int
    kind: Kind
    dlpack_code: int | None
    numpy: np.dtype[Any] | None
    carrier: np.dtype[Any]
    itemsize: int | None
    packed: bool

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dtype({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype, (self.name,)


def _make(name: str, bits: int, kind: Kind, dlpack_code: int | None) -> DType:
    packed = bits < 8
    listed = kind in ("bool", "int", "uint", "float", "complex") and not packed
    known = np.dtype(name) if listed else None
    carrier = np.dtype("uint8" if packed else f"uint{bits}") if known is None else known
    itemsize = None if packed else bits // 8
    return DType(name, bits, kind, dlpack_code, known, carrier, itemsize, packed)


# The codes are those of DLDataTypeCode, dlpack.h v1.1.
ALL = (
    _make("bool", 8, "bool", 6),
    _make("int8", 8, "int", 0),
    _make("int16", 16, "int", 0),
    _make("int32", 32, "int", 0),
    _make("int64", 64, "int", 0),
    _make("uint8", 8, "uint", 1),
    _make("uint16", 16, "uint", 1),
    _make("uint32", 32, "uint", 1),
    _make("uint64", 64, "uint", 1),
    _make("float16", 16, "float", 2),
    _make("float32", 32, "float", 2),
    _make("float64", 64, "float", 2),
    _make("complex64", 64, "complex", 5),
    _make("complex128", 128, "complex", 5),
    _make("bfloat16", 16, "bfloat", 4),
    _make("float8_e4m3fn", 8, "float8", 10),
    _make("float8_e5m2", 8, "float8", 12),
    _make("float8_e8m0fnu", 8, "float8", 14),
    _make("float4_e2m1fn", 4, "float4", 17),
    _make("uint1", 1, "uint", 1),
    _make("uint2", 2, "uint", 1),
    _make("uint3", 3, "uint", 1),
    _make("uint4", 4, "uint", 1),
    _make("uint6", 6, "uint", 1),
    _make("int2", 2, "int", 0),
    _make("int4", 4, "int", 0),
    _make("nf4", 4, "nf4", None),
)

_BY_NAME = {d.name: d for d in ALL}
# For the hot path: the dtypes that an array of numpy's has as it is, and no carrier for.
BY_NUMPY = {d.numpy: d for d in ALL if d.numpy is not None}
_BY_CODE = {(d.dlpack_code, d.bits): d for d in ALL}
_BY_TYPE: dict[type, DType] = {
    bool: _BY_NAME["bool"],
    int: _BY_NAME["int64"],
    float: _BY_NAME["float64"],
    complex: _BY_NAME["complex128"],
}


def dtype(x: Any) -> DType:
    """The element type that `x` means.

    Args:
        x: a DType, a name, a numpy dtype, a numpy scalar type, or Python's bool, int (int64),
            float (float64) or complex (complex128). The dtypes of ml_dtypes are accepted.

    Raises:
        UnknownNameError: no element type of that name.
        LayoutError: a numpy dtype that no memory here can have (objects, records, strings, dates,
            foreign byte order).
        UnsupportedObjectError: `x` is nothing of the above.
    """
    if isinstance(x, DType):
        return x
    if isinstance(x, np.dtype):
        return from_numpy(x)
    if isinstance(x, str):
        try:
            return _BY_NAME[x]
        except KeyError:
            raise UnknownNameError("dtype", x, _BY_NAME) from None
    if isinstance(x, type):
        listed = _BY_TYPE.get(x)
        if listed is not None:
            return listed
        if issubclass(x, np.generic):
            return from_numpy(_concrete(x))
    raise UnsupportedObjectError(
        f"{x!r} is not a dtype: pass a name such as 'uint8', a numpy dtype or a numpy scalar type"
    )


def from_numpy(d: np.dtype[Any]) -> DType:
    """The element type of a numpy dtype: one dictionary look-up.

    Raises:
        LayoutError: see `dtype`.
    """
    try:
        return BY_NUMPY[d]
    except KeyError:
        pass  # not here, where the KeyError would be shown with each error
    return _from_unlisted(d)


def from_dlpack_code(code: int, bits: int) -> DType | None:
    """The element type of a DLDataType with one lane; None if there is none here."""
    return _BY_CODE.get((code, bits))


def _concrete(scalar: type[np.generic]) -> np.dtype[Any]:
    try:
        with warnings.catch_warnings():
            # numpy before 2.3 takes a family for its usual member, and only warns.
            warnings.simplefilter("error", DeprecationWarning)
            return np.dtype(scalar)
    except (TypeError, DeprecationWarning) as error:
        raise LayoutError(
            f"numpy.{scalar.__name__} is a family of types: name one, such as 'float32'"
        ) from error


def _from_unlisted(d: np.dtype[Any]) -> DType:
    if d.fields is not None or d.subdtype is not None:
        raise LayoutError(
            f"structured dtype {d} is not supported: pass its fields one by one (a['x'])"
        )
    if d.hasobject:
        raise LayoutError(f"dtype {d} holds Python objects, which no other framework can read")
    if d.kind in "SUT":
        raise LayoutError(f"string dtype {d} is not supported: pass its bytes, a.view('uint8')")
    if d.kind in "mM":
        raise LayoutError(f"date dtype {d} is not supported: pass its numbers, a.view('int64')")
    if not d.isnative:
        raise LayoutError(
            f"dtype {d} has foreign byte order: "
            '`.astype(a.dtype.newbyteorder("="))` makes a copy in native order'
        )
    return _from_extension(d)


def _from_extension(d: np.dtype[Any]) -> DType:
    """The dtypes that ml_dtypes adds to numpy: void-like, and named as ours are."""
    named = _BY_NAME.get(d.name)
    if named is None or named.numpy is not None:
        raise LayoutError(
            f"dtype {d} is not supported: pass the bytes of its elements, a.view('uint8')"
        )
    if named.itemsize != d.itemsize:
        raise LayoutError(
            f"numpy keeps each {d} in its own byte, and other frameworks pack them: write the "
            f'packed bytes to samebytes.context("cpu").allocate(a.shape, "{d}").native'
        )
    return named
