# SPDX-License-Identifier: Apache-2.0
"""The child process of one check: `python -m samebytes._hardware.child NODE CHECK`.

The check "device" answers {"kind", "name"} of the node's device, the others {"result", "by"}.
"""

from __future__ import annotations

import os
import sys

from .._plugins.children import answering
from ..errors import NativeError
from .checks import NotOfferedError, WrongBytesError, opened, run_check

__all__ = ["main", "refused_by"]


def main(node: str, check: str) -> None:
    """Run the check, answer, and end the process."""
    answer = answering()
    try:
        if check == "device":
            device = opened(node).device
            answer({"kind": device.kind, "name": device.name})
        else:
            answer({"result": "passed", "by": run_check(node, check)})
    except NotOfferedError:
        answer({"result": "not offered", "by": ""})
    except WrongBytesError:
        answer({"result": "failed", "by": "wrong bytes"})
    except Exception as error:
        answer({"result": "refused", "by": refused_by(error)})
    # Some drivers crash at exit; the answer is given.
    os._exit(0)


def refused_by(error: BaseException) -> str:
    """The native call that refused and its code, or the class of an error of ours."""
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, NativeError):
            return f"{cause.call} {cause.code}"
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__


if __name__ == "__main__":
    main(*sys.argv[1:3])
