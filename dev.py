#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The project's one command: `python3 dev.py --help`.

It needs only Python 3.11 or later; every command first sets up what it needs in .venv.
"""

import sys

# Before any import of this repository, so that an old Python reaches this line, not another error.
if sys.version_info < (3, 11):  # noqa: UP036  (this is the line that enforces the minimum)
    sys.exit(
        f"samebytes needs Python 3.11 or later; {sys.executable} is {sys.version.split()[0]}. "
        "Use a newer one, for example `python3.12 dev.py` or `make demo PYTHON=python3.12`."
    )

from devtools.commands import main

if __name__ == "__main__":
    sys.exit(main())
