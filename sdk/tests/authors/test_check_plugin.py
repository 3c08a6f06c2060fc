# SPDX-License-Identifier: Apache-2.0
"""`samebytes check-plugin` passes the generated backend, and finds each fault that is put there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pytest

from samebytes._authors.check.findings import Finding
from samebytes._authors.check.stages import check_plugin
from samebytes._cli import main

if TYPE_CHECKING:
    from sdk.tests.authors.conftest import Generated
    from sdk.tests.conftest import Site

Generate = Callable[[str], "Generated"]
TIME_LIMIT_S = 60


def check(generated: Generated) -> list[Finding]:
    generated.install()
    return check_plugin(generated.name, TIME_LIMIT_S)


def failed(findings: list[Finding]) -> dict[str, str]:
    """The rules that were broken, and what was seen."""
    return {f.rule: f.detail for f in findings if f.outcome == "failed"}


def test_the_generated_backend_passes(generate: Generate) -> None:
    findings = check(generate("alpha"))
    assert {f.outcome for f in findings} == {"passed"}
    assert {f.subject for f in findings} >= {"alpha", "cpu -> alpha", "alpha -> cpu"}


class Fault(NamedTuple):
    """What is changed in which module, and what must be found."""

    file: str
    old: str
    new: str
    rule: str
    told: str


IMPORTED = "the module can be imported"
LIGHT = "importing it is light"
PLUGIN = "PLUGIN says what it is, for this plugin API"
HOOKS = "hooks are spelt and marked"
SPECS = "the hooks return valid specs"
ALONG = "it gets along with the other plugins"
PROBE = "the probe answers in time"
WRAPS = "a native type is wrapped by a class of its level"
SPELT = "a native type is spelt as it spells itself"
NODE = "a context is of the class that its node says"
CONNECTS = "an edge has a mapper that connects"
ONE = "a node has one context for the same handles"
LAYOUT = "allocated memory is of the asked layout"
NONSENSE = "nonsense is refused by name"
CLOSE = "close() gives memory back, and only if nobody uses it"
KEEPS = "an array keeps the memory that it lies in"
STAYS = "nothing stays of memory that was closed or dropped"
SAME = "both sides have the same bytes"
COPY = "a copy is a copy, and counted"
READONLY = "read-only memory stays read-only"
SOURCE = "the source closes when nothing maps it any more"
OUTLIVES = "what a mapping made outlives the source"
MAPPING_STAYS = "nothing stays of a mapping"
EXIT = "the interpreter ends well with living mappings"

HEAD = "from __future__ import annotations\n"
CRASH = "__import__('os').kill(__import__('os').getpid(), 11)"
NATIVE = '    return [\n        NativeSpec(\n            native="samebytes_alpha.blocks.Block",'
TAKEN = "Block(_for(array, access)), item.given_info, None"
GIVEN = "_for(item.native.array, access), item.given_info, None"
# An array over the address alone, which holds nothing.
UNHELD = (
    "__import__('numpy').frombuffer((__import__('ctypes').c_char * {0}.nbytes).from_address("
    "{0}.ctypes.data), {0}.dtype).reshape({0}.shape)"
)
FAULTS = {
    "an import that raises": Fault(
        "_plugin.py", HEAD, f"{HEAD}raise RuntimeError('at home')\n", IMPORTED, "at home"
    ),
    "an import that crashes": Fault(
        "_plugin.py", HEAD, f"{HEAD}{CRASH}\n", IMPORTED, "ended the process: SIGSEGV"
    ),
    "an import that ends the process": Fault(
        "_plugin.py", HEAD, f"{HEAD}__import__('os')._exit(0)\n", IMPORTED,
        "ended the process with status 0",
    ),
    "a heavy import": Fault(
        "_plugin.py", HEAD, f"{HEAD}import made_up_framework\n", LIGHT, "made_up_framework"
    ),
    "a heavy __init__.py": Fault(
        "__init__.py", HEAD, f"{HEAD}import made_up_framework\n", LIGHT, "made_up_framework"
    ),
    "a framework of its own": Fault(
        "_plugin.py", "    probe=",
        "    packages={'samebytes_alpha.blocks': 'pip install it'},\n    probe=", LIGHT,
        "samebytes_alpha.blocks",
    ),
    "another API": Fault("_plugin.py", "api=(1, 0)", "api=(2, 0)", PLUGIN, "plugin API (2, 0)"),
    "no summary": Fault(
        "_plugin.py", "Alpha: blocks of host memory", "", PLUGIN, "its summary is empty"
    ),
    "a misspelt hook": Fault(
        "_plugin.py", "def samebytes_mappers", "def samebytes_mapers", HOOKS,
        "did you mean 'samebytes_mappers'",
    ),
    "an unmarked hook": Fault(
        "_plugin.py", "@hookimpl\ndef samebytes_tensors", "def samebytes_tensors", HOOKS,
        "lacks @samebytes.plugins.hookimpl",
    ),
    "a nonsensical spec": Fault(
        "_plugin.py", 'transfer=Transfer.ALIAS,\n            summary="the', 'access="rw", '
        'transfer=Transfer.ALIAS, summary="the', SPECS, "access 'rw' is not a tuple",
    ),
    "a taken name": Fault(
        "_plugin.py", 'native="samebytes_alpha.blocks.Block"', 'native="numpy.ndarray"', ALONG,
        "that plugin 'cpu' holds",
    ),
    "a probe that raises": Fault(
        "_probe.py", "    try:\n", "    raise ValueError('today')\n    try:\n", PROBE, "today"
    ),
    "a probe that crashes": Fault("_probe.py", "    try:\n", f"    {CRASH}\n    try:\n", PROBE,
                                  "its probe ended the process: SIGSEGV"),
    "a no without a hint": Fault(
        "_probe.py", "usable=True", "usable=False", PROBE, "without a hint"
    ),
    "a no without a reason": Fault(
        "_probe.py", "usable=True, reason=", "usable=False, hint=", PROBE, "without a reason"
    ),
    "a class that is not there": Fault(
        "_plugin.py", "_memory:AlphaTensor", "_memory:AlhpaTensor", WRAPS, "AttributeError"
    ),
    "a class of another kind": Fault(
        "_plugin.py", "_memory:AlphaTensor", "_memory:AlphaContext", WRAPS,
        "is not a subclass of Tensor",
    ),
    "a class that cannot wrap": Fault(
        "_memory.py", "def wrap(", "def wrapp(", WRAPS, "AlphaTensor has no wrap()"
    ),
    "a type by another name": Fault(
        "_plugin.py", '"samebytes_alpha.blocks.Block"', '"samebytes_alpha.Block"', SPELT,
        "calls itself samebytes_alpha.blocks.Block",
    ),
    "another node": Fault(
        "_memory.py", 'node = "alpha"', 'node = "alhpa"', NODE, "its node is 'alhpa'"
    ),
    "no connect": Fault(
        "_mappers.py", "def connect(", "def conect(", CONNECTS, "FromCpu has no connect()"
    ),
    "no slots": Fault(
        "_mappers.py", "    __slots__ = ()\n", "", CONNECTS, "has no __slots__ of its own"
    ),
    "a context for each call": Fault(
        "_memory.py", "return ALPHA  #", "return cls(handles={'cl_context': id(object())}) or (",
        ONE, "there are two of them",
    ),
    "another layout": Fault(
        "_memory.py", "info = TensorInfo(dtype, shape)", "info = TensorInfo('int8', shape)",
        LAYOUT, "int8",
    ),
    "an allocation that crashes": Fault(
        "_memory.py", "        info = TensorInfo(dtype, shape)",
        f"        {CRASH}\n        info = TensorInfo(dtype, shape)", LAYOUT, "SIGSEGV",
    ),
    "nonsense taken": Fault(
        "_memory.py", "TensorInfo(dtype, shape)", "TensorInfo(dtype, [abs(n) for n in shape])",
        NONSENSE, "allocate((-1, 4), 'uint8') raised nothing",
    ),
    "memory that close() forgets": Fault(
        "_memory.py", "made=(storage,)", "made=()", CLOSE, "raised no BusyError"
    ),
    "arrays that hold nothing": Fault(
        "_memory.py", "return self.native.array",
        f"return {UNHELD.format('self.native.array')}", KEEPS, "",
    ),
    "pages that stay": Fault(
        "_memory.py", "return Storage(pages.close,",
        "_kept.append(pages)\n    return Storage(lambda: None,", STAYS, "bytes more of addresses",
    ),
    "storages that stay": Fault(
        "_memory.py", "        block = _block_in", "        _kept.append(storage)\n"
        "        block = _block_in", STAYS, "storages",
    ),
    "a cycle": Fault(
        "blocks.py", "        self.array = array\n",
        "        self.array = array\n        self.me = self\n", STAYS, "a reference cycle",
    ),
    "a silent copy": Fault(
        "_mappers.py", TAKEN, TAKEN.replace("_for(array,", "_for(array.copy(),"), SAME,
        "it declares ALIAS, and the first element of plane 0",
    ),
    "a silent copy that is said to be an import": Fault(
        "_mappers.py", TAKEN, TAKEN.replace("_for(array,", "_for(array.copy(),"), SAME,
        "what is written to the source later is not seen",
    ),
    "a silent copy that is said to be a mapping": Fault(
        "_mappers.py", TAKEN, TAKEN.replace("_for(array,", "_for(array.copy(),"), SAME,
        "what is written to the mapping is not in the source",
    ),
    "a copy that is none": Fault(
        "_plugin.py", "transfer=Transfer.ALIAS", "transfer=Transfer.COPY", COPY,
        "shows in what should be a copy",
    ),
    "other bytes": Fault("_mappers.py", GIVEN, GIVEN.replace("array,", "array[::-1],"), SAME, ""),
    "read-only memory made writable": Fault(
        "_mappers.py", 'access == "r"', "False", READONLY, "its native array can be written"
    ),
    "a source that stays in use": Fault(
        "_mappers.py", f"        return {TAKEN}",
        f"        _kept[:] = [array]\n        return {TAKEN}", SOURCE, "still holds the source",
    ),
    "memory that is not kept": Fault(
        "_mappers.py", "        array = item.native\n",
        f"        array = {UNHELD.format('item.native')}\n", OUTLIVES, "",
    ),
    "mappings that stay": Fault(
        "_mappers.py", f"        return {TAKEN}",
        f"        _kept.append(Storage())\n        return {TAKEN}", MAPPING_STAYS, "storages",
    ),
    "descriptors that stay": Fault(
        "_mappers.py", f"        return {TAKEN}",
        f"        __import__('os').open('/', 0)\n        return {TAKEN}", MAPPING_STAYS,
        "descriptors",
    ),
    "a mapping that crashes": Fault(
        "_mappers.py", f"        return {TAKEN}", f"        {CRASH}\n        return {TAKEN}",
        "an edge takes something", "SIGSEGV",
    ),
    "a crash at exit": Fault(
        "_mappers.py", f"        return {TAKEN}",
        f"        import atexit\n        atexit.register(lambda: {CRASH})\n        return {TAKEN}",
        EXIT, "SIGSEGV",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str, generate: Generate) -> None:
    fault = FAULTS[name]
    generated = generate("alpha")
    generated.site.module("made_up_framework", "")
    # Some faults need a place to keep what should go, or natives that can hold anything.
    for file in ("_memory.py", "_mappers.py"):
        generated.change(file, HEAD, f"{HEAD}\n_kept: list[object] = []\n")
    generated.change("blocks.py", '"__weakref__", "array"', '"__weakref__", "array", "me"')
    if name.startswith("a framework"):
        generated.change("__init__.py", HEAD, f"{HEAD}import samebytes_alpha.blocks\n")
    for transfer in ("import", "map"):
        if "said to be" in name and transfer in name:
            generated.change("_plugin.py", "Transfer.ALIAS", f"Transfer.{transfer.upper()}")
    generated.change(fault.file, fault.old, fault.new)
    findings = check(generated)
    found = failed(findings)
    assert fault.rule in found, [(f.rule, f.detail) for f in findings if f.outcome != "passed"]
    assert fault.told in found[fault.rule]
    assert all(f.mend for f in findings if f.outcome == "failed")


DEVICE = (
    ("class AlphaContext(HostContext)", "class AlphaContext(Context)"),
    ("import HostContext,", "import Context,"),
    ("return ALPHA  # type: ignore[return-value]  # the singleton is of this very class",
     "return cls()"),
)  # fmt: skip


def test_a_context_of_a_device(generate: Generate) -> None:
    generated = generate("alpha")
    for old, new in DEVICE:
        generated.change("_memory.py", old, new)
    findings = check(generated)
    assert failed(findings) == {}
    assert "a context closes, and its memory lives on" in {f.rule for f in findings}


def test_a_context_whose_memory_ends_with_it(generate: Generate) -> None:
    generated = generate("alpha")
    for old, new in DEVICE:
        generated.change("_memory.py", old, new)
    generated.change("_memory.py", HEAD, f"{HEAD}\n_kept: list[mmap.mmap] = []\n")
    generated.change("_memory.py", "    address =", "    _kept.append(pages)\n    address =")
    generated.change(
        "_memory.py", "    def readonly_native",
        "    def _release(self):\n        [pages.close() for pages in _kept]\n\n"
        "    def readonly_native",
    )  # fmt: skip
    assert "a context closes, and its memory lives on" in failed(check(generated))


@pytest.mark.parametrize("place", ["_probe.py", "_mappers.py"])
def test_what_hangs_is_ended(generate: Generate, place: str) -> None:
    generated = generate("alpha")
    hangs = "        __import__('time').sleep(600)\n"
    if place == "_probe.py":
        generated.change(place, "    try:\n", f"    try:\n{hangs}")
    else:
        generated.change(place, "        array = item.native\n", f"{hangs}        array = 0\n")
    generated.install()
    found = failed(check_plugin("alpha", 5))
    (told,) = found.values()
    assert "took more than 5 s" in told


def test_an_edge_that_refuses_is_not_checked(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_mappers.py", "if not array.flags.c_contiguous", "if True")
    findings = check(generated)
    (left,) = [f for f in findings if f.outcome != "passed"]
    assert (left.outcome, left.subject) == ("not checked", "cpu -> alpha")
    assert "leave gaps" in left.detail


def test_what_cannot_be_used_here_is_not_checked(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_probe.py", "        mmap.mmap(", "        raise OSError('none')\n        (")
    findings = check(generated)
    assert failed(findings) == {}
    assert findings[-1].outcome == "not checked"
    assert "the system gives no memory: none; to do: end other programs" in findings[-1].detail


def test_an_edge_to_what_is_not_installed(generate: Generate) -> None:
    generated = generate("alpha")
    generated.change("_plugin.py", 'source="cpu"', 'requires=("made_up>=1",), source="cpu"')
    (left,) = [f for f in check(generated) if f.outcome != "passed"]
    assert (left.outcome, left.subject) == ("not checked", "cpu -> alpha")
    assert "it needs plugin 'made_up', which is not installed" in left.detail


@pytest.mark.parametrize("value", ["not a module", "samebytes_alpha:PLUGIN"])
def test_an_entry_point_that_names_no_module(site: Site, value: str) -> None:
    site.distribution("alpha-dist", f"[samebytes.plugins]\nalpha = {value}\n")
    found = failed(check_plugin("alpha", TIME_LIMIT_S))
    assert "does not name a module" in found["the entry point names a module"]


def test_two_plugins_of_one_name(site: Site) -> None:
    for distribution in ("one", "other"):
        site.distribution(distribution, "[samebytes.plugins]\nalpha = alpha_plugin\n")
    told = failed(check_plugin("alpha", TIME_LIMIT_S))["the entry point names a module"]
    assert told == "one and other both announce a plugin of this name"


def test_a_disabled_plugin(generate: Generate, monkeypatch: pytest.MonkeyPatch) -> None:
    generated = generate("alpha")
    monkeypatch.setenv("SAMEBYTES_DISABLE", "alpha")
    findings = check(generated)
    assert failed(findings) == {}
    assert "disabled by SAMEBYTES_PLUGINS or SAMEBYTES_DISABLE" in findings[-2].detail


def test_the_command(generate: Generate, capsys: pytest.CaptureFixture[str]) -> None:
    generated = generate("alpha")
    generated.change("_mappers.py", 'access == "r"', "False")
    generated.install()
    assert main(["check-plugin", "alpha", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["plugin"] == "alpha"
    assert set(report["findings"][0]) == {"rule", "subject", "outcome", "detail", "mend"}
    assert main(["check-plugin", "alpha"]) == 1
    out = capsys.readouterr().out
    assert f"failed: {READONLY} (alpha -> cpu)\n  seen: its native array can be written\n" in out
    assert '  mend: for access "r", connect() returns' in out
    assert out.splitlines()[-1].startswith("alpha: ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("alhpa",), "unknown plugin 'alhpa'; did you mean 'alpha'"),
        (("alpha", "--timeout", "soon"), "is not a number of seconds"),
        ((), "the following arguments are required: NAME"),
    ],
)
def test_told_nonsense(
    site: Site, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    site.distribution("alpha-dist", "[samebytes.plugins]\nalpha = alpha_plugin\n")
    assert main(["check-plugin", *arguments]) == 2
    assert told in capsys.readouterr().err
