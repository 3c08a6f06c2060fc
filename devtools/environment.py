# SPDX-License-Identifier: Apache-2.0
"""The set-up of .venv: what is missing there is added, and what cannot be had is left out."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

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
from devtools.torch_build import why_no_torch
from devtools.venv import (
    PYTHON,
    VENV,
    Note,
    make_venv,
    read_note,
    require_ensurepip,
    unfinished,
    write_note,
)
from devtools.workspace import CommandError

# At most; `dev.py fresh` measures what it is on a machine that has nothing yet.
DEMO_MEGABYTES = 200
SITE_MEGABYTES = 30
TESTS_MEGABYTES = 1300

# Less than half a MB would be shown as none.
_WORTH_A_WORD = 5e5
_WHEELS = ("--only-binary=:all:",)


def prepare_demo() -> None:
    """Make .venv hold what the demo needs: its distributions (editable) and wheels, no more.

    Raises:
        CommandError: this Python cannot make a venv, or something cannot be installed.
    """
    _prepare(demo_parts(), f"the demo, at most {DEMO_MEGABYTES} MB to download")


def prepare_site() -> None:
    """Make .venv hold what builds the documentation, and nothing of what it documents.

    Raises:
        CommandError: this Python cannot make a venv, or something cannot be installed.
    """
    _prepare(site_parts(), f"the documentation, at most {SITE_MEGABYTES} MB to download")


def prepare() -> None:
    """Make .venv hold every distribution (editable) and the tools of the group `dev`.

    Packages of the operating system are installed too if this is root. A distribution that
    cannot be installed here is left out, and the reason printed.

    Raises:
        CommandError: this Python cannot make a venv, or the tools or the core cannot be installed.
    """
    _prepare_all(development_parts)


def prepare_tests(*, again: bool = False) -> None:
    """The same with the array libraries of the tests; torch only as a build without CUDA.

    Where pip offered no such build, and apt not all packages, they are asked for `again`, or else
    only once.

    Raises:
        CommandError: as for `prepare`.
    """
    note = read_note()
    if again and note.usable:
        note.left_out.clear()
        note.missing_packages.clear()
        write_note(note)
    _prepare_all(test_parts)


def why_left_out(name: str) -> str | None:
    """The reason why the last set-up left out a distribution or group, or None if it did not."""
    return read_note().left_out.get(name)


def left_out(*, strict: bool) -> list[Result]:
    """The parts that the last set-up left out, as not run; in a strict run, as failed.

    The array libraries are not among them: the tests that need one say so themselves.
    """
    reasons = {name: r for name, r in read_note().left_out.items() if name not in ARRAYS}
    return [
        Result(name, False, f"left out: {reason}")
        if strict
        else not_run(name, f"left out: {reason}")
        for name, reason in reasons.items()
    ]


def _prepare_all(parts: Callable[[], Sequence[Part]]) -> None:
    note = read_note()
    if not note.usable:
        require_ensurepip()
    packages = prepare_system(note.missing_packages if note.usable else ())
    # What can be built depends on the packages of the system.
    _prepare(parts(), f"everything, at most {TESTS_MEGABYTES} MB to download")
    note = read_note()
    if note.missing_packages != packages:
        note.missing_packages = packages
        write_note(note)


def _prepare(parts: Sequence[Part], what: str) -> None:
    note = read_note()
    if note.usable and not any(_is_to_do(part, note) for part in parts):
        return
    began = time.monotonic()
    if not note.usable:
        require_ensurepip()
        print(f"set-up of {VENV} for {what}", flush=True)
        note = make_venv()
    else:
        print(f"{VENV} is brought up to date for {what}", flush=True)
    run = _Run(note)
    pip.LOG.unlink(missing_ok=True)
    with unfinished(note):
        run.install(parts)
        # What no part asks for any more may be undone by what another asks for later.
        asked = set(_requirements([*demo_parts(), *test_parts()]))
        note.requirements = [r for r in note.requirements if r in asked]
    print(f"set-up took {time.monotonic() - began:.0f} s, {run.taken()}", flush=True)


def _is_to_do(part: Part, note: Note) -> bool:
    if _has_requirements(part, note):
        return not _is_installed(part, note)
    # What cannot even be tried is to do only where the reason is another one than last time.
    if part.missing:
        return note.left_out.get(part.name) != _lacks(part)
    return part.name != "torch" or "torch" not in note.left_out


def _has_requirements(part: Part, note: Note) -> bool:
    return set(part.requirements) <= set(note.requirements)


def _is_installed(part: Part, note: Note) -> bool:
    return part.distribution is None or note.distributions.get(part.name) == part.digest


def _lacks(part: Part) -> str:
    missing = part.missing
    return f"{missing[0].path} is missing to build what it needs; {apt_command(missing)}"


@dataclass
class _Run:
    """One set-up: the bytes that it has taken from where, and what it must leave out."""

    note: Note
    downloaded: float = 0
    from_disk: float = 0
    left_out: dict[str, str] = field(default_factory=dict)
    last_lines: str = ""

    def taken(self) -> str:
        """The megabytes downloaded, and those from folders of this machine if there are many."""
        downloaded = f"{self.downloaded / 1e6:.0f} MB were downloaded"
        if self.from_disk < _WORTH_A_WORD:
            return downloaded
        return f"{downloaded}, {self.from_disk / 1e6:.0f} MB taken from folders of this machine"

    def install(self, parts: Sequence[Part]) -> None:
        """Add the parts to .venv, what others publish before what is ours."""
        alone = [p for p in parts if p.compiles_with or p.name in ("torch", *WITHOUT_REQUIREMENTS)]
        self._install_requirements([p for p in parts if p not in alone], _WHEELS)
        for part in [p for p in alone if not _has_requirements(p, self.note)]:
            if part.name in WITHOUT_REQUIREMENTS:
                self._install_requirements([part], [*_WHEELS, "--no-deps"])
                continue
            torch = part.name == "torch"
            reason = _lacks(part) if part.missing else torch and why_no_torch(part.requirements)
            if reason:
                self._leave_out(part, reason)
                continue
            if not torch:
                print(f"building what {part.name} needs takes minutes", flush=True)
            self._install_requirements([part], _WHEELS if torch else [])
        self._install_ours([p for p in parts if p.distribution and p.name not in self.left_out])
        kept = {n: r for n, r in self.note.left_out.items() if n not in {p.name for p in parts}}
        self.note.left_out = kept | self.left_out

    def _install_requirements(self, parts: Sequence[Part], options: Sequence[str]) -> None:
        """In one run of pip, so that their versions agree; in one for each where that fails.

        Those that are built have the build isolation that their authors count on.
        """
        if all(_has_requirements(part, self.note) for part in parts):
            return
        reason = self._pip([*options, *_requirements(parts)])
        if reason is None:
            asked = [*self.note.requirements, *_requirements(parts)]
            self.note.requirements = list(dict.fromkeys(asked))
        elif len(parts) == 1:
            self._leave_out(parts[0], reason)
        else:
            print(f"pip failed (see {pip.LOG}), so it is run for each part", flush=True)
            for part in parts:
                self._install_requirements([part], options)

    def _install_ours(self, parts: Sequence[Part]) -> None:
        """Without isolation: the build backend is in .venv already, once for all of them."""
        parts = [part for part in parts if not _is_installed(part, self.note)]
        reason = self._pip_ours(parts) if parts else None
        if reason is not None and len(parts) == 1:
            self._leave_out(parts[0], reason)
        elif reason is not None:
            for part in parts:
                self._install_ours([part])

    def _pip_ours(self, parts: Sequence[Part]) -> str | None:
        words = ["--no-build-isolation", "--no-deps"]
        for part in parts:
            if part.distribution:
                words += ["--editable", str(part.distribution.path)]
        reason = self._pip(words)
        if reason is None:
            self.note.distributions |= {part.name: part.digest for part in parts}
        return reason

    def _pip(self, words: Sequence[str]) -> str | None:
        done = pip.install(PYTHON, words)
        self.downloaded += done.downloaded
        self.from_disk += done.from_disk
        self.last_lines = done.last_lines
        return done.reason

    def _leave_out(self, part: Part, reason: str) -> None:
        if part.required:
            print(self.last_lines, flush=True)
            raise CommandError(f"the set-up failed: {part.name} cannot be installed: {reason}")
        print(f"{part.name} is left out: {reason}", flush=True)
        self.left_out[part.name] = reason


def _requirements(parts: Iterable[Part]) -> list[str]:
    return list(dict.fromkeys(r for part in parts for r in part.requirements))
