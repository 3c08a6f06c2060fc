# SPDX-License-Identifier: Apache-2.0
"""The entries that a frame or a region holds as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .._core.edges.context import Context
from .._core.memory.tensor import Tensor
from .._dtypes import dtype
from .._secrets import without_secrets
from ..errors import MetadataError, SamebytesError
from ._checks import optional_real, optional_whole, sequence, shown, text, texts, whole
from ._entry import Checked, Entry

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Classification",
    "InferenceResult",
    "LayerInfo",
    "ModelInfo",
    "ObjectId",
    "SourceIdentifier",
]

# The length of names of element types: looking for similar names takes a while for long ones.
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, init=False)
class InferenceResult(Entry):
    """One output of a model for the frame or region that has this entry.

    Args:
        tensor: the output: a samebytes Tensor, or an array that shares its bytes (numpy, DLPack,
            buffer protocol), which becomes one. The entry holds it, and so its memory, until the
            entry is gone; nothing is copied. If it is the output of a request that is used again,
            its bytes change with the next start: pass a copy, or drop the entry before. A Tensor
            that is closed elsewhere is closed here too. None if only the names are known.
        model_name, layer_name: the names of the model, and of the output in it.
        name: the name of the tensor, if it differs from that of its layer.
        format: the contents of the tensor, for instance "boxes" or "landmarks".
        layout: the layout of its axes, for instance "NCHW".
        point_names, point_connections: for key points: the name of each, and the pairs of names
            that are joined by lines, one name after the other.

    Two results are equal if all of these are equal; tensors are equal if they are the same object.

    Raises:
        MetadataError: an invalid value.
        UnsupportedObjectError, LayoutError: `tensor` cannot become a tensor.
    """

    about_the_whole: ClassVar[bool] = True

    tensor: Tensor | None
    model_name: str
    layer_name: str
    name: str
    format: str
    layout: str
    point_names: tuple[str, ...]
    point_connections: tuple[str, ...]

    # Written out, since it takes more types than the fields have.
    def __init__(
        self,
        tensor: Any = None,
        model_name: str = "",
        layer_name: str = "",
        name: str = "",
        format: str = "",  # the word of the field, and of DL Streamer
        layout: str = "",
        point_names: Sequence[str] = (),
        point_connections: Sequence[str] = (),
    ) -> None:
        if tensor is not None and not isinstance(tensor, Tensor):
            tensor = Context.router.tensor(tensor)
        self._set("tensor", tensor)
        self._set("model_name", text(model_name, self._name("model_name")))
        self._set("layer_name", text(layer_name, self._name("layer_name")))
        self._set("name", text(name, self._name("name")))
        self._set("format", text(format, self._name("format")))
        self._set("layout", text(layout, self._name("layout")))
        self._set("point_names", texts(point_names, self._name("point_names")))
        connections = texts(point_connections, self._name("point_connections"))
        if len(connections) % 2:
            raise MetadataError(
                self._name("point_connections"),
                f"must name points two by two, not {len(connections)} of them",
            )
        self._set("point_connections", connections)

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The tensor's bytes as a numpy array that keeps them alive, without a copy.

        Raises:
            MetadataError: there is no tensor.
            NotHostVisibleError: the CPU cannot read it in place: map `tensor` to "cpu".
        """
        if self.tensor is None:
            raise MetadataError(self._name("tensor"), "is not known: this result holds only names")
        return self.tensor.host_array()


@dataclass(frozen=True, slots=True)
class Classification(Entry):
    """The result of a classifier for the frame or region that has this entry.

    Args:
        label: the name of the class; "" if only its number is known.
        confidence: the confidence of the classifier, usually 0 to 1, or None.
        label_id: the number of the class, or None.
        attribute: the property that was classified: "color", "age". "" if none in particular.
        result: the output that this was read from, or None.

    Raises:
        MetadataError: an invalid value, or neither label nor label_id.
    """

    about_the_whole: ClassVar[bool] = True

    label: str = ""
    confidence: float | None = None
    label_id: int | None = None
    attribute: str = ""
    result: InferenceResult | None = None

    def __post_init__(self) -> None:
        self._set("label", text(self.label, self._name("label")))
        self._set("confidence", optional_real(self.confidence, self._name("confidence")))
        self._set("label_id", optional_whole(self.label_id, self._name("label_id")))
        self._set("attribute", text(self.attribute, self._name("attribute")))
        if self.result is not None and not isinstance(self.result, InferenceResult):
            raise MetadataError(
                self._name("result"), f"must be an InferenceResult, not {self.result!r}"
            )
        if not self.label and self.label_id is None:
            raise MetadataError(self._name("label"), "is empty, and there is no label_id either")


@dataclass(frozen=True, slots=True)
class ObjectId(Entry):
    """The number that a tracker gave an object: the same one from frame to frame.

    Args:
        id: from 0 on.

    Raises:
        MetadataError: an invalid value.
    """

    about_the_whole: ClassVar[bool] = True

    id: int

    def __post_init__(self) -> None:
        self._set("id", whole(self.id, self._name("id"), 0))


@dataclass(frozen=True, slots=True)
class SourceIdentifier(Entry):
    """The origin of a picture: its stream, and its place in a batch.

    Args:
        batch_index: the index of its item in a batch, from 0.
        stream_id: the number of its stream, from 0.
        pts: presentation time in nanoseconds, or None.
        region_id: `Detection.id` of the region that was cut out of the picture, or None.
        object_id: `ObjectId.id` of the object in it, or None.
        uri: the address of the stream, for people to read, without a password; "" if it has none.

    Raises:
        MetadataError: an invalid value.
    """

    batch_index: int = 0
    stream_id: int = 0
    pts: int | None = None
    region_id: int | None = None
    object_id: int | None = None
    uri: str = ""

    def __post_init__(self) -> None:
        self._set("batch_index", whole(self.batch_index, self._name("batch_index"), 0))
        self._set("stream_id", whole(self.stream_id, self._name("stream_id"), 0))
        for field in ("pts", "region_id", "object_id"):
            self._set(field, optional_whole(getattr(self, field), self._name(field)))
        self._set("uri", without_secrets(text(self.uri, self._name("uri"))))


@dataclass(frozen=True, slots=True)
class LayerInfo(Checked):
    """An input or output of a model.

    Args:
        name: the name of the layer.
        dtype: the name of an element type, or anything else that `samebytes.dtype()` takes.
        shape: elements along each axis; None for an axis that varies.

    Raises:
        MetadataError: an invalid value.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    def __post_init__(self) -> None:
        self._set("name", text(self.name, self._name("name")))
        if isinstance(self.dtype, str) and len(self.dtype) > _LONGEST_NAME:
            raise MetadataError(self._name("dtype"), f"is unknown: {shown(self.dtype)}")
        try:
            self._set("dtype", str(dtype(self.dtype)))
        except SamebytesError as error:
            raise MetadataError(self._name("dtype"), f"is unknown: {error}") from None
        extents = enumerate(sequence(self.shape, self._name("shape")))
        shape = [optional_whole(n, f"{self._name('shape')}[{i}]", 0) for i, n in extents]
        self._set("shape", tuple(shape))


@dataclass(frozen=True, slots=True)
class ModelInfo(Entry):
    """A model that a frame was given to.

    Args:
        name: the name of the model.
        inputs, outputs: its layers.

    Raises:
        MetadataError: an invalid value.
    """

    name: str
    inputs: tuple[LayerInfo, ...] = ()
    outputs: tuple[LayerInfo, ...] = ()

    def __post_init__(self) -> None:
        self._set("name", text(self.name, self._name("name")))
        for field in ("inputs", "outputs"):
            layers = sequence(getattr(self, field), self._name(field))
            for i, layer in enumerate(layers):
                if not isinstance(layer, LayerInfo):
                    raise MetadataError(
                        f"{self._name(field)}[{i}]", f"must be a LayerInfo, not {layer!r}"
                    )
            self._set(field, layers)
