# SPDX-License-Identifier: Apache-2.0
"""Activation of software devices for a command, or in this process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from samebytes_softdevices._plan import Plan, SoftDeviceError

__all__ = ["activate_in_process", "environment_with", "run_command"]


def environment_with(plan: Plan, environment: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of `environment` with which a new program finds the devices of `plan`.

    A second call on the result changes nothing.

    Raises:
        SoftDeviceError: a path cannot be part of a list of paths.
    """
    result = {**environment, **plan.environment}
    _prepend(result, "LD_LIBRARY_PATH", plan.search)
    _prepend(result, "LD_PRELOAD", plan.interpose)
    return result


def run_command(plan: Plan, command: list[str]) -> None:
    """Replace this process by `command`. It does not return.

    Raises:
        SoftDeviceError: the command cannot be started.
    """
    try:
        os.execvpe(command[0], command, environment_with(plan, os.environ))
    except OSError as error:
        raise SoftDeviceError(f"cannot run {command[0]}: {error.strerror}") from error


def activate_in_process(plan: Plan) -> None:
    """Make this process, and those that it starts later, find the devices of `plan`.

    Call it before any framework is imported, because loaded libraries stay.

    Raises:
        SoftDeviceError: a library that must come first was loaded from elsewhere, or cannot be
            loaded.
    """
    _check_that_it_is_early(plan)
    os.environ.update(environment_with(plan, os.environ))
    _load(plan.preload, ctypes.RTLD_LOCAL)
    _load(plan.interpose, ctypes.RTLD_GLOBAL)


def _check_that_it_is_early(plan: Plan) -> None:
    loaded = _loaded_files()
    remedy = (
        "some framework was imported before the software devices were switched on. Switch them on "
        "first, or start the program with `samebytes-softdevices run`"
    )
    for path in plan.interpose:
        for other in loaded:
            if other.name.split(".so")[0] == path.name.split(".so")[0] and not _same(other, path):
                raise SoftDeviceError(f"{other} is already loaded, but {path} is needed: {remedy}")
    # If ours came first, as in a program that `run` started, others may follow.
    if all(any(_same(other, path) for other in loaded) for path in plan.interpose):
        return
    for other in loaded:
        if other.name.startswith(plan.too_late):
            raise SoftDeviceError(f"{other} is already loaded: {remedy}")


def _load(paths: Iterable[Path], mode: int) -> None:
    for path in paths:
        try:
            ctypes.CDLL(str(path), mode=mode)
        except OSError as error:
            raise SoftDeviceError(f"cannot load {path}: {error}") from error


def _prepend(environment: dict[str, str], name: str, paths: Iterable[Path]) -> None:
    """Put `paths` first in a list variable, each once.

    ld.so(8): colons separate the entries of both variables, and spaces those of LD_PRELOAD too.
    """
    first = [str(path) for path in paths]
    if not first:
        return
    for path in first:
        if ":" in path or " " in path:
            raise SoftDeviceError(
                f"{path} holds a colon or a space, which {name} cannot hold: install into a "
                "virtual environment at another path"
            )
    there = environment.get(name, "").replace(" ", ":" if name == "LD_PRELOAD" else " ")
    rest = [entry for entry in there.split(":") if entry not in ("", *first)]
    environment[name] = ":".join((*first, *rest))


def _loaded_files() -> list[Path]:
    """The files mapped into this process (proc_pid_maps(5): the sixth field)."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    fields = (line.split(maxsplit=5) for line in maps.splitlines())
    return list(dict.fromkeys(Path(f[5]) for f in fields if len(f) == 6 and f[5][0] == "/"))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
