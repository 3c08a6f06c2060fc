# SPDX-License-Identifier: Apache-2.0
"""Write docs/reference/errors.md: every error message of the source, grouped by error class."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from devtools.workspace import DISTRIBUTIONS, ROOT, source_files

PAGE = ROOT / "docs" / "reference" / "errors.md"
# The trees of classes. `Refused` is not an error: an edge raises it to refuse an object, and
# NoRouteError shows the reason.
_ROOTS = ("SamebytesError", "Refused", "SoftDeviceError", "DemoError")

# What to do, by class; a class without an entry has that of its base.
_REMEDIES = {
    "SamebytesError": "Read the message: it ends with what to do.",
    "ClosedError": "Do not use an object after its `close()` or after its `with` block. Open or "
    "map it again.",
    "BusyError": "Wait for what runs, such as an inference, or use another request.",
    "AccessError": 'Map the original with access "w" or "rw". Memory that was wrapped read-only '
    "stays read-only.",
    "LayoutError": "Pass the shape, strides, size, format or handle that the message asks for.",
    "MetadataError": "Pass the value that the message asks for: see [typed metadata](metadata.md).",
    "ExportError": "Let the consumer ask for a copy, or export the bytes as uint8.",
    "NotHostVisibleError": 'Map the tensor to "cpu", with `copy=True` if the message says so.',
    "RegionError": "Use the whole tensor, or copy with `tensor.map('cpu', copy=True)`.",
    "UnsupportedObjectError": "Pass an object of a type that the message names, or install the "
    "plugin for its framework.",
    "UnknownNameError": "Correct the name; the message lists similar or known names.",
    "DeviceMismatchError": "Create both objects from the same native context, for instance with "
    "`context.derive()`.",
    "NativeError": "Look up the code in the documentation of the library that returned it.",
    "OpenVINOError": "Read OpenVINO's own message, which follows the name of the call.",
    "PipelineError": "Read GStreamer's own message; `GST_DEBUG=3` prints more.",
    "ElementError": "Read what the element raised, which follows; `element`, `stream` and `pts` "
    "say where.",
    "ParameterError": "Pass a value that the message asks for.",
    "NegotiationError": "Each line of the message is a reason; change what one of the elements "
    "takes or gives, put an element between them, or allow a copy with `copy=True`.",
    "PoolTimeoutError": "Drop frames and arrays that the program keeps, or copy what it needs.",
    "RouteError": "Print `samebytes.route(source, target)`: it explains every edge.",
    "NoRouteError": "Each line of the message is a reason that blocks a route; remove one of "
    "them. [Find out why it copies](../how-to/find-out-why-it-copies.md) shows how.",
    "CopyRequiredError": "Pass `copy=True`, or change the layout so that no copy is needed.",
    "AmbiguousTargetError": "Pass one of the listed names, or a context.",
    "PluginError": "Run `samebytes doctor PLUGIN`. Other plugins are not affected.",
    "PluginLoadError": "Fix the plugin, or report it to its author; `samebytes check-plugin` "
    "helps.",
    "ImportInProgressError": "Use what a finalizer needs once before it can come, or let it ask "
    "again later.",
    "PluginConflictError": "Uninstall one of the two plugins, or exclude one with "
    "`SAMEBYTES_DISABLE`.",
    "IncompatiblePluginError": "Upgrade samebytes or the plugin.",
    "MissingDependencyError": "Run the command at the end of the message.",
    "ClusterError": "Connect with `ray.init(address=...)`, or start a node that has what "
    "the message names.",
    "PlacementTimeoutError": "Wait until others have ended, add a node, or pass a longer "
    "`timeout`.",
    "WorkerDiedError": "Look into Ray's logs for the reason. Run the element in one process to see "
    "it.",
    "PropertyError": "Pass a value that the plugin accepts for this remote property.",
    "NpuPropertyError": "Pass a value from [the list of properties](npu-properties.md).",
    "MessageError": "Close the connection. The two processes use different releases, or the "
    "sender does not follow [the format](wire-format.md).",
    "EndOfStreamError": "The sender has finished; stop receiving.",
    "PipelineTimeoutError": "Wait longer, or look for an element that has stalled.",
    "CameraGoneError": "Connect the camera, and open it again.",
    "CameraTimeoutError": "Wait longer, drop frames that are kept, or try the camera elsewhere.",
    "NewBackendError": "Choose another name or folder.",
    "Refused": "Remove the reason, or choose another target or `copy=True`.",
    "SoftDeviceError": "Install or choose what the message names.",
    "DemoError": "Change the command as the message says.",
}

# An argument that is the message, where it is given.
_WHOLE = {"ParameterError": "says"}

# Classes that pass their arguments on to the one that they are of.
_PASSING_ON = ("Refused", "RouteError", "SamebytesError")

# How a class makes its message from the arguments of its constructor.
_TEMPLATES = {
    "UnknownNameError": (("kind", "name", "known", "hint"), "unknown {kind} {name}; ... {hint}"),
    "ElementError": (("element", "message"), "element {element} ...: {message}"),
    "ParameterError": (
        ("element", "parameter", "value", "expected"),
        "element {element}: parameter {parameter} must be {expected}, not {value}",
    ),
    "NegotiationError": (
        ("element", "message", "before", "reasons"),
        "element {element} ...: {message}: {reasons}",
    ),
    "PoolTimeoutError": (("element", "message"), "element {element} ...: {message}"),
    "RingTimeoutError": (("message", "holders"), "{message}"),
    "ClusterError": (("message", "resources"), "{message}"),
    "NativeError": (("call", "code", "meaning"), "{call} failed with {code}: {meaning}"),
    "NoRouteError": (
        ("source", "target", "reasons"),
        "no route from {source} to {target}: {reasons}",
    ),
    "CopyRequiredError": (
        ("source", "target", "edge", "reasons"),
        "the route from {source} to {target} needs a copy (edge {edge}); ... {reasons}",
    ),
    "AmbiguousTargetError": (
        ("source", "target", "choices"),
        "target {target} is ambiguous from {source}: pass one of {choices}, or a context",
    ),
    "PluginError": (("plugin", "message"), "plugin {plugin}: {message}"),
    "IncompatiblePluginError": (
        ("plugin", "declared", "supported"),
        "plugin {plugin}: it declares plugin API {declared}, this samebytes has {supported}; ...",
    ),
    "MissingDependencyError": (
        ("plugin", "missing", "hint"),
        "plugin {plugin}: {missing} is missing: {hint}",
    ),
    "MetadataError": (("field", "what"), "{field} {what}"),
    "MessageError": (("field", "what"), "{field}: {what}"),
    "PropertyError": (("property_", "message"), "{property_}: {message}"),
    "ForeignMemoryError": (("property_", "message"), "{property_}: {message}"),
    "NpuPropertyError": (("property_", "value", "reason"), "{property_}: {reason}"),
    "LevelZeroError": (("call", "code", "why"), "{call} failed with {code}: {why}"),
    "VAError": (("call", "code", "meaning"), "{call} failed with {code}: {meaning}"),
    "PipelineError": (("call", "code", "message"), "{call} failed with {code}: {message}"),
    "OpenVINOError": (("call", "message"), "{call} failed: {message}"),
}
_HEAD = """\
# Errors

Written by `python3 dev.py errors` from the source; do not edit it.

All errors that samebytes raises on purpose are subclasses of `samebytes.errors.SamebytesError`.
Most classes are in `samebytes.errors`, some in the package of a backend. A message names what was
wrong and, where there is one, the remedy. Below are the messages of each class, by distribution.
`{...}` stands for a value that is filled in when the error is raised.
"""


@dataclass
class _ErrorClass:
    name: str
    base: str
    summary: str
    makes_message: bool


class Errors:
    """The error classes and messages in the source of all distributions."""

    def __init__(self, sources: Mapping[str, list[ast.Module]]) -> None:
        self._sources = sources

    @cached_property
    def classes(self) -> dict[str, _ErrorClass]:
        """The classes of the trees, each after its base."""
        every = {
            node.name: _ErrorClass(node.name, base, _summary(node), _has_init(node))
            for modules in self._sources.values()
            for module in modules
            for node in ast.walk(module)
            if isinstance(node, ast.ClassDef)
            for base in [_name(node.bases[0]) if node.bases else ""]
        }
        found: dict[str, _ErrorClass] = {}
        for root in _ROOTS:
            if root in every:
                self._add(root, every, found)
        return found

    def _add(
        self, name: str, every: Mapping[str, _ErrorClass], found: dict[str, _ErrorClass]
    ) -> None:
        found[name] = every[name]
        for child in sorted(every):
            if every[child].base == name:
                self._add(child, every, found)

    @cached_property
    def messages(self) -> dict[str, dict[str, set[str]]]:
        """By class and distribution."""
        found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for distribution, modules in self._sources.items():
            for module in modules:
                constants = _constants(module)
                for call in _calls(module):
                    name = _name(call.func)
                    if name in self.classes and (text := self._message(name, call, constants)):
                        found[name][distribution].add(text)
        return found

    def remedy(self, name: str) -> str:
        """The advice to a user for an error of that class."""
        while name not in _REMEDIES:
            name = self.classes[name].base
        return _REMEDIES[name]

    def without_template(self) -> list[str]:
        """The classes that make their message in a way that this module does not know."""
        return [
            name
            for name, found in self.classes.items()
            if found.makes_message and name not in (*_TEMPLATES, *_PASSING_ON)
        ]

    def _message(self, name: str, call: ast.Call, constants: Mapping[str, str]) -> str:
        """The text of one call, or "" if nothing of it is written there."""
        given = [_text(argument, constants) for argument in call.args]
        base = name
        while base in self.classes and base not in _TEMPLATES:
            base = self.classes[base].base
        if base not in _TEMPLATES:
            return given[0] if given and not _is_placeholder(given[0]) else ""
        parameters, template = _TEMPLATES[base]
        values = dict.fromkeys(parameters, "")
        values.update(zip(parameters, given, strict=False))
        values.update((k.arg, _text(k.value, constants)) for k in call.keywords if k.arg in values)
        for keyword in call.keywords:
            if keyword.arg == _WHOLE.get(base):
                return f"element {values['element']}: {_text(keyword.value, constants)}"
        if all(_is_placeholder(value) for value in given):
            return ""
        text = template.format_map(values).replace(" failed with 0", " failed", 1)
        return text.strip().rstrip(":").removesuffix("; ...").strip()


@cache
def errors() -> Errors:
    """The errors of this repository."""
    return Errors({d.name: list(_modules(d.path / "src")) for d in DISTRIBUTIONS})


def page() -> str:
    """The text of docs/reference/errors.md."""
    every = errors()
    parts = [_HEAD]
    for name, found in every.classes.items():
        by_distribution = every.messages.get(name, {})
        bases = f" ({found.base})" if found.base in every.classes else ""
        parts.append(f"## {name}{bases}\n\n{found.summary}\n\n**Remedy:** {every.remedy(name)}\n")
        for distribution, texts in by_distribution.items():
            lines = "\n".join(sorted(texts, key=lambda text: (text.lower(), text)))
            parts.append(f"{distribution}:\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def write() -> None:
    """Write the page."""
    PAGE.write_text(page())


def _modules(folder: Path) -> Iterator[ast.Module]:
    for path in source_files(".py", below=folder):
        yield ast.parse(path.read_text())


def _calls(module: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(module) if isinstance(node, ast.Call))


def _constants(module: ast.Module) -> dict[str, str]:
    """The module's own names for texts."""
    return {
        target.id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _text(node: ast.expr, constants: Mapping[str, str]) -> str:
    """The text of an expression, with `{...}` for what is known only when it runs."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name) and node.id in constants:
        return constants[node.id]
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _text(part.value, constants)
            if isinstance(part, ast.FormattedValue)
            else _text(part, constants)
            for part in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_text(node):
        return _text(node.left, constants) + _text(node.right, constants)
    if isinstance(node, ast.List | ast.Tuple):
        return ", ".join(_text(item, constants) for item in node.elts)
    if isinstance(node, ast.Call) and _placeholder(node.func) == "counted":
        number, noun = node.args
        return f"{_text(number, constants)} {_text(noun, constants)}s"
    return "{" + _placeholder(node) + "}"


def _is_text(node: ast.expr) -> bool:
    """True if a sum adds texts, not numbers."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _placeholder(node: ast.expr) -> str:
    """A short name of a value."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return "type" if node.attr in ("__name__", "__qualname__") else node.attr.strip("_")
    if isinstance(node, ast.Call):
        # str(x), len(x), x.strip(), ', '.join(x): of x.
        of = node.args[0] if node.args else node.func
        if isinstance(of, ast.Attribute) and not node.args:
            of = of.value if of.attr in ("strip", "type_name") else of
        return _placeholder(of)
    return "..."


def _is_placeholder(text: str) -> bool:
    return text.count("{") == 1 and text.startswith("{") and text.endswith("}")


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _summary(node: ast.ClassDef) -> str:
    text = ast.get_docstring(node) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _has_init(node: ast.ClassDef) -> bool:
    return any(isinstance(part, ast.FunctionDef) and part.name == "__init__" for part in node.body)
