# SPDX-License-Identifier: Apache-2.0
"""The parts of the host that a fresh machine gets: the way to the network, and this checkout."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from devtools.workspace import ROOT

# Of the host's environment nothing else goes in, least of all PIP_*.
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Where an index lies, and nothing of what is taken from it.
_INDEX_SETTINGS = re.compile(r"^(?:global|install)\.(index-url|proxy|trusted-host)='(.*)'$")
_NEVER_COPIED = (".git", ".venv*", "build", "dist", "__pycache__", "*.egg-info", ".*_cache")


def environment(home: str, path: str) -> dict[str, str]:
    """All that is set: a home, a PATH, a language, and the host's proxies."""
    proxies = {k: v for k, v in os.environ.items() if k.lower() in _PROXIES}
    return {"HOME": home, "PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", **proxies}


def pip_settings() -> str:
    """The pip.conf with which an index is reached that is not the usual one; mostly empty.

    A machine behind a mirror has the address in a pip.conf, which a pristine root lacks. Other
    settings (caches, wheels on this disk) would hide what is looked for, and stay behind.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
    answer = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [match for line in answer.stdout.splitlines() if (match := _INDEX_SETTINGS.match(line))]
    return "".join(["[global]\n", *(f"{m[1]} = {m[2]}\n" for m in found)]) if found else ""


def give_network(root: Path) -> None:
    """Let a root find hosts, and trust the certificates that the host trusts."""
    for file in (Path("/etc/resolv.conf"), Path("/etc/hosts"), _CERTIFICATES):
        if file.exists():
            target = root / file.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copyfile(file, target)
    settings = pip_settings()
    if settings:
        (root / "etc" / "pip.conf").write_text(settings)


def copy_checkout(target: Path) -> None:
    """The files of this checkout as they are now, without what git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        names = [name for name in answer.stdout.split("\0") if name]
    except FileNotFoundError:
        names = []
    if not names:  # an unpacked archive
        shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*_NEVER_COPIED))
    for name in names:
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
