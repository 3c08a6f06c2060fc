# SPDX-License-Identifier: Apache-2.0
"""Probes run in a child process; whatever they do there becomes an answer here."""

from __future__ import annotations

import io
import json
import os
import signal
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import samebytes as sb
from samebytes import probe
from samebytes.__main__ import main
from samebytes.errors import UnknownNameError
from samebytes.plugins import ProbeResult

if TYPE_CHECKING:
    from sdk.tests.conftest import Site

_PLUGIN = """
from samebytes.plugins import *
PLUGIN = Plugin(api=API, summary="made up", packages={packages!r}, probe={probe!r})

@hookimpl
def samebytes_contexts():
    return [ContextSpec(node="alpha", context="alpha_classes:Here")]
"""


def install(site: Site, probe_code: str | None, packages: dict[str, str] | None = None) -> None:
    """Plugin alpha with a probe of the given body."""
    name = None
    if probe_code is not None:
        name = "alpha_probe:look"
        body = "".join(f"    {line}\n" for line in probe_code.splitlines())
        site.module(
            "alpha_probe",
            "import os, sys, time, signal, subprocess\n"
            "from samebytes.errors import MissingDependencyError\n"
            f"from samebytes.plugins import ProbeResult\n\ndef look():\n{body}",
        )
    site.plugin("alpha", header=_PLUGIN.format(packages=packages or {}, probe=name))


def said_by(*command: str) -> Any:
    """The JSON that a command prints."""
    with redirect_stdout(io.StringIO()) as out:
        main([*command, "--json", "--timeout", "30"])
    return json.loads(out.getvalue())


def doctor(*names: str) -> list[dict[str, Any]]:
    """Return what `samebytes doctor` finds out about each of these plugins."""
    return list(said_by("doctor", *names)["plugins"])


def importable(name: str) -> bool | None:
    (found,) = doctor(name)
    answer: bool | None = found["importable"]
    return answer


def checked_probe(name: str) -> tuple[str, str]:
    """The finding of `samebytes check-plugin` on a probe: "failed" blames the plugin; and why."""
    findings = said_by("check-plugin", name)["findings"]
    (found,) = [f for f in findings if f["subject"] == f"{name}_probe:look"]
    return found["outcome"], found["detail"]


def test_usable(site: Site) -> None:
    install(
        site,
        "pid = os.getpid()\n"
        "return ProbeResult(usable=True, reason='found', hint='none', details={'pid': pid})",
    )
    result = probe("alpha")
    assert (result.usable, result.reason, result.hint) == (True, "found", "none")
    assert int(result.details["pid"]) != os.getpid()
    assert importable("alpha") is True


def test_not_usable(site: Site) -> None:
    install(site, "return ProbeResult(usable=False, reason='no device', hint='plug one in')")
    assert probe("alpha") == ProbeResult(usable=False, reason="no device", hint="plug one in")
    assert importable("alpha") is True


def test_no_folder_can_be_written(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    install(site, "print('noise')\nreturn ProbeResult(usable=True, reason='found')")
    monkeypatch.setattr("tempfile.tempdir", str(site.path / "nowhere"))
    assert probe("alpha").reason == "found"


def test_cpu_needs_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere")
    assert probe("cpu").usable


@pytest.mark.together
def test_no_interpreter(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    install(site, "return ProbeResult(usable=True)")
    monkeypatch.setattr("sys.executable", str(site.path / "nowhere"))
    result = probe("alpha")
    assert not result.usable
    assert "no child process could be started" in result.reason


@pytest.mark.together
def test_without_a_probe_importable_is_usable(site: Site) -> None:
    site.module("made_up_framework", "")
    install(site, None, {"made_up_framework": "pip install made-up"})
    assert probe("alpha").usable


@pytest.mark.together
def test_missing_package(site: Site) -> None:
    install(site, "raise RuntimeError", {"json": "", "made_up_framework": "pip install made-up"})
    result = probe("alpha")
    assert result.reason == "the package 'made_up_framework' is missing"
    assert (result.usable, result.hint) == (False, "pip install made-up")
    assert importable("alpha") is False


@pytest.mark.together
def test_package_that_cannot_be_imported(site: Site) -> None:
    site.module("made_up_framework", "raise OSError('libmade.so.2: cannot open')\n")
    install(site, None, {"made_up_framework": "pip install made-up"})
    assert "OSError: libmade.so.2: cannot open" in probe("alpha").reason
    assert importable("alpha") is False


@pytest.mark.together
def test_package_that_kills_the_process(site: Site) -> None:
    site.module("made_up_framework", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    install(site, "return ProbeResult(usable=True)", {"made_up_framework": ""})
    assert probe("alpha").reason == "importing its packages ended the process: SIGSEGV"
    assert importable("alpha") is False


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise ValueError('today')", "its probe alpha_probe:look raised ValueError: today"),
        ("sys.exit(3)", "raised SystemExit: 3"),
        ("return 7", "returned 7, not a ProbeResult"),
        ("return None", "returned None, not a ProbeResult"),
        ("os._exit(0)", "ended the process with status 0 and no result"),
        ("os._exit(5)", "ended the process with status 5"),
        ("os.kill(os.getpid(), signal.SIGABRT)", "ended the process: SIGABRT"),
        (
            (
                "print('driver: bad', file=sys.stderr, flush=True)\nprint('last', flush=True)\n"
                "os.kill(os.getpid(), signal.SIGSEGV)"
            ),
            "ended the process: SIGSEGV; its last words: last",
        ),
        (
            (
                "for fd in range(3, 20):\n    try: os.write(fd, b'junk')\n"
                "    except OSError: pass\nos._exit(0)"
            ),
            "which is not a result",
        ),
        (
            (
                "for fd in range(3, 20):\n    try: os.write(fd, b'{\"usable\": 3}')\n"
                "    except OSError: pass\nos._exit(0)"
            ),
            "which is not a result",
        ),
        *(
            (
                (
                    "import json\n"
                    f"text = json.dumps({{'result': {{'usable': True, 'details': {details}}}, "
                    "'faulty': False}).encode() + b'\\n'\n"
                    "for fd in range(3, 20):\n    try: os.write(fd, text)\n"
                    "    except OSError: pass\nos._exit(0)"
                ),
                "which is not a result",
            )
            for details in ("[1]", "{'a': 1}")
        ),
    ],
)
@pytest.mark.together
def test_probes_that_fail(site: Site, code: str, expected: str) -> None:
    install(site, code)
    result = probe("alpha")
    assert not result.usable
    assert expected in result.reason
    assert importable("alpha") is True


@pytest.mark.together
def test_hint_of_a_missing_library(site: Site) -> None:
    install(site, "raise MissingDependencyError('alpha', 'libva.so.2', 'apt install libva2')")
    assert probe("alpha").hint == "apt install libva2"


@pytest.mark.together
def test_a_package_that_cannot_be_loaded_has_the_hint_of_the_probe(site: Site) -> None:
    site.module("broken", "raise ImportError('libGL.so.1: cannot open')\n")
    why = "reason='libGL', hint='apt install libgl1'"
    install(site, f"return ProbeResult(usable=False, {why})", {"broken": "broken"})
    (found,) = doctor("alpha")
    assert found["reason"].startswith("libGL (importing broken raised ImportError")
    assert found["hint"] == "apt install libgl1"
    assert not found["importable"]
    assert checked_probe("alpha")[0] == "passed"


@pytest.mark.together
@pytest.mark.parametrize(
    ("code", "known"), [("return ProbeResult(usable=False, hint='a device')", "NameError"),
                        ("import os; os.abort()", "NameError")],
)  # fmt: skip
def test_a_mistake_in_a_package_is_not_covered_by_advice(site: Site, code: str, known: str) -> None:
    site.module("broken", "nonsense\n")
    install(site, code, {"broken": "broken"})
    outcome, detail = checked_probe("alpha")
    assert outcome == "failed"
    assert known in detail


@pytest.mark.together
def test_a_package_that_cannot_be_loaded_is_named_where_the_probe_fails_too(site: Site) -> None:
    site.module("broken", "raise ImportError('libGL.so.1: cannot open')\n")
    install(site, "raise ValueError", {"broken": "broken"})
    assert "importing broken raised ImportError" in probe("alpha").reason


@pytest.mark.together
def test_printing_does_no_harm(site: Site) -> None:
    install(
        site,
        "print('hello')\nos.write(1, b'from C')\nsubprocess.run(['echo', 'from a child'])\n"
        "return ProbeResult(usable=True, details={1: 2})",
    )
    assert probe("alpha") == ProbeResult(usable=True, details={"1": "2"})


@pytest.mark.together
def test_hanging(site: Site) -> None:
    # It leaves its own number and that of a process it started, which must both be gone after.
    pids = site.path / "pids"
    pids.touch()
    install(
        site,
        "more = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{more.pid}}')\n"
        "time.sleep(600)",
    )
    for seconds in (2, 20):  # a busy machine may need the first for its imports
        result = probe("alpha", timeout=seconds)
        if pids.read_text():
            break
    assert not result.usable
    assert result.reason == f"its probe took more than {seconds} s"
    assert result.hint == "more time: samebytes doctor alpha --timeout 60"
    child, grandchild = map(int, pids.read_text().split())
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert is_gone(grandchild)


@pytest.mark.together
def test_packages_that_take_long_may_be_importable(site: Site) -> None:
    site.module("slow", "import time\ntime.sleep(600)\n")
    install(site, "return ProbeResult(usable=True)", {"slow": "slow"})
    with redirect_stdout(io.StringIO()) as out:
        assert main(["doctor", "alpha", "--json", "--timeout", "2"]) == 1
    (found,) = json.loads(out.getvalue())["plugins"]
    assert found["importable"] is None
    assert found["reason"] == "importing its packages took more than 2 s"


def is_gone(pid: int) -> bool:
    """True if a killed process ends: whoever adopted it may need a moment to notice."""
    for _ in range(500):
        try:
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.together
def test_a_process_left_behind_holds_nothing_up(site: Site) -> None:
    install(
        site,
        "more = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "return ProbeResult(usable=True, details={'pid': more.pid})",
    )
    result = probe("alpha", timeout=30)
    os.kill(int(result.details["pid"]), signal.SIGKILL)  # else it has waited for the end of it
    assert result.usable


def test_set_aside(site: Site) -> None:
    site.plugin("alpha", "raise RuntimeError('no')\n")
    result = probe("alpha")
    assert not result.usable
    assert "RuntimeError: no" in result.reason
    assert importable("alpha") is False


def test_disabled(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEBYTES_DISABLE", "alpha")
    install(site, "return ProbeResult(usable=True)")
    sb.refresh()
    assert "disabled by" in probe("alpha").reason
    assert importable("alpha") is None


def test_unknown(site: Site) -> None:
    install(site, "return ProbeResult(usable=True)")
    with pytest.raises(UnknownNameError, match="did you mean 'alpha'"):
        probe("alhpa")


@pytest.mark.together
def test_paths_added_by_this_process_reach_the_child(site: Site) -> None:
    # The site itself is such a path: nothing but sys.path names it.
    assert str(site.path) not in os.environ.get("PYTHONPATH", "")
    install(site, "import alpha_plugin\nreturn ProbeResult(usable=True)")
    assert probe("alpha").usable


@pytest.mark.together
def test_probes_run_side_by_side(site: Site) -> None:
    """Each of two waits until the other has begun."""
    here = """
from pathlib import Path
from samebytes.plugins import *
def look(mine={mine!r}, other={other!r}):
    import time
    Path({folder!r}, mine).touch()
    latest = time.monotonic() + 20
    while not (both := Path({folder!r}, other).exists()) and time.monotonic() < latest:
        time.sleep(0.01)
    return ProbeResult(usable=both, reason=mine)
PLUGIN = Plugin(api=API, summary="", probe={name!r})
"""
    for mine, other in (("alpha", "beta"), ("beta", "alpha")):
        site.plugin(
            mine,
            header=here.format(
                mine=mine, other=other, folder=str(site.path), name=f"{mine}_plugin:look"
            ),
        )
    found = doctor("alpha", "cpu", "beta")
    reasons = ["alpha", "it needs nothing else", "beta"]
    assert [(one["usable"], one["reason"]) for one in found] == [(True, r) for r in reasons]
