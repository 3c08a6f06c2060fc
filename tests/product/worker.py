# SPDX-License-Identifier: Apache-2.0
"""The process that runs cases: one a line of its standard input; a line of JSON for each.

Apart from the one that asks, since a case that hangs or crashes must not end the others.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

from .cases import Case
from .room import Room
from .running import check

__all__ = ["main"]


def main() -> None:
    """Run what is asked for, until nothing is."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print goes elsewhere
    with tempfile.TemporaryDirectory() as folder, Room(Path(folder)) as room:
        for line in sys.stdin:
            text = ""
            try:
                check(Case.of(line.strip()), room)
            except Exception:
                text = traceback.format_exc()
            print(json.dumps(text), file=answers, flush=True)


if __name__ == "__main__":
    main()
