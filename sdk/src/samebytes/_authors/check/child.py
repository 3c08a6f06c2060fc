# SPDX-License-Identifier: Apache-2.0
"""The child process of `check-plugin`: it runs one stage, which imports the plugin.

`python -m samebytes._authors.check.child STAGE PLUGIN ARGUMENT`. See `Report` for the answers.
"""

from __future__ import annotations

import sys

from ..._plugins.children import answering
from .reporting import Report

__all__ = ["main"]


def main(stage: str, plugin: str, argument: str) -> None:
    """Run one stage; the process ends by itself, so that an end that crashes is seen."""
    report = Report(answering())
    if stage == "declaration":
        from . import declaration

        declaration.check(report, plugin, argument)
        return
    from . import installed

    installed.check(report, stage, plugin, argument)


if __name__ == "__main__":
    main(*sys.argv[1:])
