# SPDX-License-Identifier: Apache-2.0
"""A check that OpenCV can be used on this machine."""

from __future__ import annotations

from samebytes.plugins import ProbeResult

__all__ = ["probe"]

_OLDEST = (4, 10)


def probe() -> ProbeResult:
    """Import OpenCV and look at its version."""
    try:
        import cv2
    except ImportError as error:
        # opencv-python links the X11 and OpenGL libraries of a desktop, which servers lack.
        if ".so" in str(error):
            return ProbeResult(
                usable=False,
                reason=f"cv2 cannot be loaded: {error}",
                hint="install that library, or opencv-python-headless in place of opencv-python",
            )
        return ProbeResult(usable=False, reason=str(error), hint='pip install "samebytes[opencv]"')
    details = {"version": cv2.__version__, "file": str(cv2.__file__)}
    if tuple(int(n) for n in cv2.__version__.split(".")[:2]) < _OLDEST:
        return ProbeResult(
            usable=False,
            reason=f"OpenCV {cv2.__version__} is older than {_OLDEST[0]}.{_OLDEST[1]}",
            hint="upgrade the OpenCV package that you use",
            details=details,
        )
    return ProbeResult(usable=True, reason=f"OpenCV {cv2.__version__}", details=details)
