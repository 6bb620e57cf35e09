"""Reads the modules of messages in backend/wire: what they define, and under which names."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache
from types import ModuleType
from typing import get_args

import msgspec

from backend.wire.fields import WireFrame

MODULES = (
    "fields",
    "masked_messages",
    "messages",
    "unit_messages",
    "mesh_fields",
    "byzantine_messages",
    "mesh_messages",
    "peer_messages",
)
# All messages of one direction; each becomes a table of checks by tag.
UNIONS = (
    "ClientFrame",
    "ServerFrame",
    "UnitsToServer",
    "ServerToUnits",
    "PeerToServer",
    "ServerToPeer",
    "PeerFrame",
)
# Numbers and names that both halves use.
CONSTANTS = (
    "PROTOCOL",
    "CHUNK_BYTES",
    "MOST_MEMBERS",
    "UNITS_PROTOCOL",
    "MOST_SLOTS",
    "MOST_HELD",
    "MOST_CHECKPOINTS",
    "MESH_PROTOCOL",
    "MOST_IN_GROUP",
    "MOST_IN_MESH",
    "MOST_IN_CHAIN",
)


@cache
def module_of(name: str) -> ModuleType:
    """Returns a module of messages."""
    return importlib.import_module(f"backend.wire.{name}")


@cache
def tree_of(name: str) -> ast.Module:
    """Returns the source of a module."""
    return ast.parse(inspect.getsource(module_of(name)))


def is_message(value: object) -> bool:
    """Whether it is a message or a part of one, and not the base of some."""
    if not (isinstance(value, type) and issubclass(value, msgspec.Struct)):
        return False
    return value in _messages() or not issubclass(value, WireFrame)


@cache
def _messages() -> frozenset[type]:
    unions = [getattr(module_of(name), one, None) for name in MODULES for one in UNIONS]
    return frozenset(message for union in unions for message in get_args(union))


@cache
def used_aliases() -> frozenset[str]:
    """Returns the names that fields of messages use, directly or through another name.

    The words of a union are written out, so the names in it are not used.
    """
    used: set[str] = set()
    nodes: list[ast.AST] = []
    assigned: dict[str, ast.expr] = {}
    for module in MODULES:
        for node in tree_of(module).body:
            if isinstance(node, ast.ClassDef):
                nodes += [one.annotation for one in node.body if isinstance(one, ast.AnnAssign)]
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned[node.targets[0].id] = node.value
    while nodes:
        for one in ast.walk(nodes.pop()):
            if isinstance(one, ast.Name) and one.id in assigned and one.id not in used:
                used.add(one.id)
                if not isinstance(assigned[one.id], ast.BinOp):
                    nodes.append(assigned[one.id])
    return frozenset(used)


def home_of(module: str, name: str) -> str:
    """Returns the module that defines what another one calls by a name."""
    for node in tree_of(module).body:
        if isinstance(node, ast.ImportFrom) and any((one.asname or one.name) == name for one in node.names):
            return home_of((node.module or "").rpartition(".")[2], name)
    return module
