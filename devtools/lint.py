# SPDX-License-Identifier: Apache-2.0
"""All static checks of the repository: ruff, mypy and the house rules."""

import sys

from devtools import house_rules
from devtools.results import Result
from devtools.venv import PYTHON
from devtools.workspace import DISTRIBUTIONS, ROOT, run


def lint() -> Result:
    """Run every check, whatever the others say, and name those that failed."""
    typed = [d.folder for d in DISTRIBUTIONS] + ["dev.py", "devtools", "tests"]
    checks = {
        "ruff check": lambda: run([PYTHON, "-m", "ruff", "check", "."]),
        "ruff format": lambda: run([PYTHON, "-m", "ruff", "format", "--check", "."]),
        "mypy": lambda: run([PYTHON, "-m", "mypy", *(t for t in typed if (ROOT / t).exists())]),
        "house rules": _house_rules,
    }
    failed = [name for name, check in checks.items() if check()]
    return Result("lint", not failed, ", ".join(failed) + " failed" if failed else "no complaints")


def _house_rules() -> int:
    complaints = house_rules.complaints()
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return len(complaints)
