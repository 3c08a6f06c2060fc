# SPDX-License-Identifier: Apache-2.0
"""Lines that the checkers must complain of: each names mypy's code and pyright's rules."""

from typing import assert_type

import numpy as np

import samebytes as sb
import samebytes.elements as el
import samebytes_openvino as ov
from samebytes_openvino import OpenVINOContext

tensor = sb.tensor(np.zeros(4))
frame = sb.frame(np.zeros((4, 4), np.uint8), format="GRAY8")

# A misspelt class.
context: object = ov.Misspelt  # mypy attr-defined, pyright AttributeAccessIssue
# A name as a string is found when it is used, with what was meant.
assert_type(tensor.map("opencvv"), sb.Tensor)

tensor.map("cpu", "wr")  # mypy call-overload, pyright ArgumentType CallIssue
frame.map(3)  # mypy call-overload, pyright ArgumentType CallIssue
frame.map(np.ndarray)  # mypy arg-type, pyright ArgumentType CallIssue
sb.context("cpu").allocate("4")  # mypy arg-type, pyright ArgumentType
tensor.shape = (2, 2)  # mypy misc, pyright AttributeAccessIssue
# A tensor has no planes.
mapped = tensor.map(OpenVINOContext)
mapped.planes = ()  # mypy attr-defined, pyright AttributeAccessIssue


# Elements made of functions have the parameters of these.
@el.inplace(takes=el.Image("GRAY8", access="rw"))
def brighten(picture: sb.Frame, *, by: int = 10) -> None:
    print(picture, by)


@el.source
def pictures(*, count: int) -> list[sb.Frame]:
    return [frame] * count


assert_type(brighten(by=7), el.TransformInplace)
assert_type(pictures(count=1), el.Source)
brighten(by="7")  # mypy arg-type, pyright ArgumentType
brighten(bye=7)  # mypy call-arg, pyright CallIssue
pictures()  # mypy call-arg, pyright CallIssue
# The elements of a tensor are those of its array.
tensor[0]  # mypy index, pyright IndexIssue
