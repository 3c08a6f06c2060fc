# SPDX-License-Identifier: Apache-2.0
"""Reports of mypy and pyright on users' programs, in `programs`: the expected ones and no others.

The settings are the checkers' strict ones, without those of this repository. A line with an error
ends in a comment: "# mypy CODE, pyright RULE RULE" (without pyright's "report").
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
EXPECTED = re.compile(r"# (?:mypy ([\w-]+))?(?:, )?(?:pyright ([\w ]+?))?(?: #|: |$)")
TIME_LIMIT_S = 300

# Each with its file and line.
Complaints = set[tuple[str, int, str]]


def expected(checker: str) -> Complaints:
    """The complaints that the comments of the programs announce."""
    found: Complaints = set()
    for program in PROGRAMS.glob("*.py"):
        for number, line in enumerate(program.read_text().splitlines(), 1):
            if "# mypy " not in line and "# pyright " not in line:
                continue
            announced = EXPECTED.search(line[line.index("# ") :])
            assert announced, f"{program.name}:{number}: a comment that cannot be read"
            codes = announced[1 if checker == "mypy" else 2] or ""
            found |= {(program.name, number, code) for code in codes.split()}
    return found


def run(*command: str, cwd: Path) -> str:
    """Return the output of a checker, which exits with 1 if it complains, with more if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The programs outside this repository, as users have theirs."""
    folder = tmp_path / "programs"
    shutil.copytree(PROGRAMS, folder)
    return folder


def test_mypy(programs: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="missing package: mypy")
    files = [p.name for p in programs.glob("*.py")]
    options = ("--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", "--output=json")
    lines = run("mypy", *options, *files, cwd=programs).splitlines()
    reported = [json.loads(line) for line in lines if line.startswith("{")]
    found = {(t["file"], t["line"], t["code"]) for t in reported if t["severity"] == "error"}
    assert sorted(found) == sorted(expected("mypy")), "\n".join(lines)


def test_pyright(programs: Path) -> None:
    pytest.importorskip("pyright", reason="missing package: pyright")
    settings = {"include": ["."], "typeCheckingMode": "strict"}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    text = run("pyright", "--outputjson", f"--pythonpath={sys.executable}", cwd=programs)
    reported = json.loads(text)["generalDiagnostics"]
    found = {
        (Path(t["file"]).name, t["range"]["start"]["line"] + 1, t["rule"].removeprefix("report"))
        for t in reported
    }
    announced = expected("pyright")
    # What follows from an error, in the same line: the type of something is not known.
    lines = {(file, line) for file, line, _ in announced}
    found = {f for f in found if f[:2] not in lines or not f[2].startswith("Unknown")}
    assert sorted(found) == sorted(announced), text


def test_there_is_something_to_find() -> None:
    for checker in ("mypy", "pyright"):
        assert len(expected(checker)) > 5
