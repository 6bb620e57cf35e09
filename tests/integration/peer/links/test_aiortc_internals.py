"""aiortc has the private parts that `peer/links/sctp.py` uses, and only a tried version is installed."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from aiortc import rtcdtlstransport, rtcsctptransport
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcsctptransport import RTCSctpTransport

from backend.peer.links import sctp

BASES = {"PatchedSctp": RTCSctpTransport, "PatchedDtls": RTCDtlsTransport}
ADDED = {"_acknowledge", "_acknowledge_late", "_acknowledge_if_there", "_take_acknowledged", "_widen"}
TREE = ast.parse(Path(sctp.__file__).read_text("utf-8"))
CLASSES = [node for node in TREE.body if isinstance(node, ast.ClassDef)]


def private(tree: ast.AST) -> set[str]:
    """Names of the private attributes that are read or called in a piece of Python."""
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {name for name in attributes if name.startswith("_") and not name.startswith("__")}


def own() -> set[str]:
    """Names that `sctp.py` adds, which aiortc must not have."""
    fields = [one.target for node in CLASSES for one in node.body if isinstance(one, ast.AnnAssign)]
    names = {field.id for field in fields if isinstance(field, ast.Name)}
    return names | ADDED


def test_aiortc_has_every_private_part_that_is_used() -> None:
    source = inspect.getsource(rtcsctptransport) + inspect.getsource(rtcdtlstransport)
    known = set(re.findall(r"\b_[a-z]\w*", source))
    used = private(TREE) - own()
    assert len(used) > 30
    assert used - known == set()
    # What is added here must not be something else there.
    assert own() & known == set()


@pytest.mark.parametrize("patched", CLASSES, ids=lambda node: node.name)
def test_methods_that_are_overridden_are_called_alike(patched: ast.ClassDef) -> None:
    base, ours = BASES[patched.name], getattr(sctp, patched.name)
    methods = [one.name for one in patched.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    overridden = [name for name in methods if name not in own()]
    assert overridden
    for name in overridden:
        theirs = getattr(base, name)
        arguments = [len(inspect.signature(method).parameters) for method in (getattr(ours, name), theirs)]
        assert arguments[0] == arguments[1], name
        assert inspect.iscoroutinefunction(getattr(ours, name)) == inspect.iscoroutinefunction(theirs), name


def test_no_other_version_is_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    assert {one for extra in extras for one in extra if one.startswith("aiortc")} == {"aiortc==1.16.*"}
    assert version("aiortc").startswith("1.16.")
