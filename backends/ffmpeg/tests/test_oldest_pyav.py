# SPDX-License-Identifier: Apache-2.0
"""Names of PyAV in this package: the oldest version it declares has them, or they are asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import samebytes_ffmpeg

_FILES = sorted(Path(samebytes_ffmpeg.__file__).parent.rglob("*.py"))
# Public classes of `av.error` in PyAV 12.3.0, which `av` has too. Later versions have more.
_ERRORS = """
BSFNotFoundError BlockingIOError BrokenPipeError BufferTooSmallError BugError ChildProcessError
ConnectionAbortedError ConnectionRefusedError ConnectionResetError DecoderNotFoundError
DemuxerNotFoundError EOFError EncoderNotFoundError ErrorType ExitError ExperimentalError
ExternalError FFmpegError FileExistsError FileNotFoundError FilterNotFoundError HTTPBadRequestError
HTTPClientError HTTPError HTTPForbiddenError HTTPNotFoundError HTTPOtherClientError HTTPServerError
HTTPUnauthorizedError InputChangedError InterruptedError InvalidDataError IsADirectoryError
LookupError MemoryError MuxerNotFoundError NotADirectoryError NotImplementedError OSError
OptionNotFoundError OutputChangedError OverflowError PatchWelcomeError PermissionError
ProcessLookupError ProtocolNotFoundError PyAVCallbackError TimeoutError UndefinedError UnknownError
"""
# Of its `av`, what is public.
_OTHERS = """
__version__ AudioFifo AudioFormat AudioFrame AudioLayout AudioResampler BitStreamFilterContext Codec
CodecContext ContainerFormat Packet VideoFormat VideoFrame audio bitstream buffer codec
codecs_available container dictionary error filter format formats_available frame library_versions
logging open option packet plane sidedata stream time_base utils video
"""
_NAMES = {
    "av.error": {*_ERRORS.split(), "err_check"},
    "av": {*_ERRORS.split(), *_OTHERS.split()},
}


def _lacking(text: str) -> Iterator[str]:
    """The names of `av` and `av.error` that a module uses when it runs and PyAV 12.3 lacks."""
    module = ast.parse(text)
    aliases, found = {}, []
    for node in _running(module):
        if isinstance(node, ast.Import):
            aliases.update({n.asname or "av": "av" for n in node.names if n.name == "av"})
        elif isinstance(node, ast.ImportFrom) and node.module in _NAMES:
            found += [(node.module, n.name) for n in node.names]
            names = ((n.asname or n.name, f"{node.module}.{n.name}") for n in node.names)
            aliases.update({alias: name for alias, name in names if name in _NAMES})
    for node in _running(module):
        if isinstance(node, ast.Attribute):
            whose, _, rest = ast.unparse(node.value).partition(".")
            whose = ".".join(filter(None, (aliases.get(whose, ""), rest)))
            if whose in _NAMES:
                found.append((whose, node.attr))
    return (f"{whose}.{name}" for whose, name in found if name not in _NAMES[whose])


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a node, but annotations, which are never evaluated here."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from _running(child)


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_no_name_is_newer_than_the_oldest_pyav(file: Path) -> None:
    """A newer one is asked for where it is used: `getattr(av, name, None)`, `vars(av).get(name)`"""
    assert not list(_lacking(file.read_text()))


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_no_name_of_a_format_is_read_where_there_may_be_none(file: Path) -> None:
    """PyAV 17 ends the process by `pix_fmt` of a codec context without one; `format` is None."""
    read = [node for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)]  # fmt: skip
    assert "pix_fmt" not in [node.attr for node in read]


@pytest.mark.parametrize(
    "text",
    [
        "import av\nkinds = (av.error.ArgumentError, av.error.EOFError)",
        "from av import error as kinds\nkinds.ArgumentError",
        "from av.error import ArgumentError",
        "import av\nav.ArgumentError",
    ],
)
def test_a_newer_name_is_found(text: str) -> None:
    assert [name.rpartition(".")[2] for name in _lacking(text)] == ["ArgumentError"]


def test_annotations_do_not_count() -> None:
    assert not list(_lacking("import av\ndef f(stream: av.VideoStream) -> av.Nothing: ..."))
