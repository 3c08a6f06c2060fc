# SPDX-License-Identifier: Apache-2.0
"""The set-up of .venv: missing parts are added, and parts that cannot be had are left out."""

import time
from collections.abc import Callable, Iterable, Sequence

from devtools import pip
from devtools.parts import (
    ARRAYS,
    WITHOUT_REQUIREMENTS,
    Part,
    demo_parts,
    development_parts,
    site_parts,
    test_parts,
)
from devtools.results import Result, not_run
from devtools.system import apt_command, prepare_system
from devtools.venv import VENV, Note, create_venv, read_note, require_ensurepip
from devtools.workspace import CommandError

# At most; `dev.py fresh` measures the download on a machine that has nothing yet.
DEMO_MEGABYTES = 200
SITE_MEGABYTES = 30
TESTS_MEGABYTES = 1300
_EVERYTHING = f"everything, at most {TESTS_MEGABYTES} MB to download"

_WHEELS = ("--only-binary=:all:",)


# Each of these functions adds parts to .venv. All raise CommandError if this Python cannot make a
# venv, or a required part cannot be installed.


def prepare_demo() -> None:
    """Add the parts that the demo needs: only its distributions (editable) and wheels."""
    _prepare(demo_parts, f"the demo, at most {DEMO_MEGABYTES} MB to download")


def prepare_site() -> None:
    """Add the builders of the documentation, without the packages that it documents."""
    _prepare(site_parts, f"the documentation, at most {SITE_MEGABYTES} MB to download")


def prepare() -> None:
    """Add every distribution (editable) and the tools of the group `dev`.

    Packages of the operating system are installed too if this is root. A distribution that
    cannot be installed here is left out, and the reason printed.
    """
    _prepare(development_parts, _EVERYTHING, prepare_system)


def prepare_tests() -> None:
    """Add the same and the array libraries of the tests; torch only as a build without CUDA."""
    _prepare(test_parts, _EVERYTHING, prepare_system)


def why_left_out(name: str) -> str | None:
    """The reason why the last set-up left out a distribution or group, or None if it did not."""
    note = read_note()
    return note.left_out.get(name) if note else None


def left_out(*, strict: bool) -> list[Result]:
    """The parts that the last set-up left out, as not run; in a strict run, as failed.

    The array libraries are not among them: tests that need one report that themselves.
    """
    reasons = (read_note() or Note()).left_out
    missing = {n: f"left out: {reason}" for n, reason in reasons.items() if n not in ARRAYS}
    return [Result(n, False, said) if strict else not_run(n, said) for n, said in missing.items()]


def _prepare(
    wanted: Callable[[], Sequence[Part]], what: str, before: Callable[[], object] | None = None
) -> None:
    note = read_note()
    if note is None:
        require_ensurepip()
    if before:
        before()
    parts = wanted()  # what can be built depends on the packages of the system
    if note and all(_is_met(part, note) and _is_installed(part, note) for part in parts):
        return
    began = time.monotonic()
    print(f"{'more in' if note else 'set-up of'} {VENV} for {what}", flush=True)
    if note is None:
        create_venv(VENV)
        note = Note()
    pip.LOG.unlink(missing_ok=True)
    run = _Run(note)
    note.write(unfinished=True)
    try:
        run.install(parts)
    except CommandError:  # pip ended by itself, and left things in order
        note.write(unfinished=False)
        raise
    # Requirements that no part has any more may be undone by those of a later one.
    asked = set(_requirements([*demo_parts(), *test_parts()]))
    note.requirements = [r for r in note.requirements if r in asked]
    note.write(unfinished=False)
    seconds = time.monotonic() - began
    print(f"set-up took {seconds:.0f} s, {run.downloaded / 1e6:.0f} MB were downloaded", flush=True)


def _is_met(part: Part, note: Note) -> bool:
    return set(part.requirements) <= set(note.requirements)


def _is_installed(part: Part, note: Note) -> bool:
    return part.distribution is None or note.distributions.get(part.name) == part.digest


class _Run:
    """One set-up: the bytes that it has downloaded, and the parts that it must leave out."""

    def __init__(self, note: Note) -> None:
        self.note = note
        self.downloaded = 0.0

    def install(self, parts: Sequence[Part]) -> None:
        """Add the parts to .venv: packages of others first, then this repository's."""
        for part in parts:
            self.note.left_out.pop(part.name, None)
        alone = [p for p in parts if p.compiles_with or p.name in ("torch", *WITHOUT_REQUIREMENTS)]
        self._each_or_all([p for p in parts if p not in alone], self._require)
        for part in alone:
            self._each_or_all([part], self._require)
        # Without isolation: .venv already has the build backend, once for all of them.
        self._each_or_all([p for p in parts if p.name not in self.note.left_out], self._ours)

    def _each_or_all(self, parts: Sequence[Part], step: Callable[[Sequence[Part]], None]) -> None:
        """Install in one run of pip, so that versions agree; if it fails, in one for each part."""
        try:
            step(parts)
        except CommandError as error:
            if len(parts) > 1:
                print(f"pip failed (see {pip.LOG}), so it is run for each part", flush=True)
                for part in parts:
                    self._each_or_all([part], step)
            elif parts[0].required:
                said = f"the set-up failed: {parts[0].name} cannot be installed: {error}"
                raise CommandError(f"{said}; {pip.LOG} says more") from None
            else:
                print(f"{parts[0].name} is left out: {error}", flush=True)
                self.note.left_out[parts[0].name] = str(error)

    def _require(self, parts: Sequence[Part]) -> None:
        if all(_is_met(part, self.note) for part in parts):
            return
        options: tuple[str, ...] = _WHEELS
        for part in parts:
            if part.missing:
                path = part.missing[0].path
                raise CommandError(f"{path} is missing to build it; {apt_command(part.missing)}")
            if part.name == "torch" and (reason := pip.why_no_torch(part.requirements)):
                raise CommandError(reason)
            if part.compiles_with:  # with the build isolation that their authors expect
                print(f"building what {part.name} needs takes minutes", flush=True)
                options = ()
            if part.name in WITHOUT_REQUIREMENTS:
                options = (*_WHEELS, "--no-deps")
        self.downloaded += pip.install([*options, *_requirements(parts)])
        asked = [*self.note.requirements, *_requirements(parts)]
        self.note.requirements = list(dict.fromkeys(asked))

    def _ours(self, parts: Sequence[Part]) -> None:
        new = [p for p in parts if p.distribution and not _is_installed(p, self.note)]
        if new:
            folders = [
                w for p in new if p.distribution for w in ("--editable", p.distribution.path)
            ]
            self.downloaded += pip.install(["--no-build-isolation", "--no-deps", *folders])
            self.note.distributions |= {part.name: part.digest for part in new}


def _requirements(parts: Iterable[Part]) -> list[str]:
    return list(dict.fromkeys(r for part in parts for r in part.requirements))
