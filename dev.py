#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The project's one command: `python3 dev.py --help`.

It needs nothing but Python 3.11 or later; every command makes what it needs in .venv first.
"""

import sys

# Before any import of ours, so that an old Python reaches this line instead of some other error.
if sys.version_info < (3, 11):  # noqa: UP036  (this is the line that enforces the minimum)
    sys.exit(
        f"samebytes needs Python 3.11 or later; {sys.executable} is {sys.version.split()[0]}. "
        "Use a newer one, for example `python3.12 dev.py` or `make demo PYTHON=python3.12`."
    )

from devtools.commands import main

if __name__ == "__main__":
    sys.exit(main())
