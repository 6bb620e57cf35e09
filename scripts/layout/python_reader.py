"""Reads the facts of one Python file from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from scripts.layout.facts import Alias, Definition, Facts, Function, Import, TypeCheck


def read_python(text: str, module: str, is_package: bool = False) -> Facts:
    """Returns the facts of a file that is imported as `module`. Raises SyntaxError."""
    reader = _Reader(module if is_package else module.rpartition(".")[0], text.count("\n"))
    body = ast.parse(text).body
    for node in body:
        if isinstance(node, ast.ClassDef):
            reader.facts.classes.append(Definition(node.name, node.lineno))
    reader.read(body)
    return reader.facts


class _Reader:
    """Walks a syntax tree once and collects the facts; relative imports start at `package`."""

    def __init__(self, package: str, lines: int) -> None:
        self.facts = Facts(lines)
        self._package = package

    def read(self, nodes: list[ast.stmt], runs: bool = True) -> None:
        """Reads statements and their children; leaves out imports that never run."""
        for node in nodes:
            self._read(node, runs)

    def _read(self, node: ast.AST, runs: bool) -> None:
        match node:
            case ast.Name():
                self.facts.identifiers[node.id] += 1
                return
            case ast.Constant():
                return
            case ast.Attribute():
                self.facts.identifiers[node.attr] += 1
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node)
            case ast.ClassDef():
                self.facts.identifiers[node.name] += 1
            case ast.arg() | ast.keyword():
                if node.arg:
                    self.facts.identifiers[node.arg] += 1
            case ast.Import() | ast.ImportFrom():
                self._import(node, runs)
                return
            case ast.If() if _last_name(node.test) == "TYPE_CHECKING":
                self.read(node.body, runs=False)
                self.read(node.orelse, runs)
                return
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[value, classes]):
                self._check(_last_name(value), classes, node.lineno)
            case ast.MatchClass():
                self._check("", node.cls, node.cls.lineno)
        for child in ast.iter_child_nodes(node):
            self._read(child, runs)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.facts.identifiers[node.name] += 1
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        self.facts.functions.append(Function(node.name, node.lineno, lines))

    def _check(self, value: str, classes: ast.expr, line: int) -> None:
        self.facts.checks.append(TypeCheck(value, tuple(_alternatives(classes)), line))

    def _import(self, node: ast.Import | ast.ImportFrom, runs: bool) -> None:
        start = _start(node, self._package) if isinstance(node, ast.ImportFrom) else ""
        for one in node.names:
            self.facts.identifiers[one.asname or one.name.partition(".")[0]] += 1
            if one.asname and one.asname != one.name:
                original = one.name.rpartition(".")[2]
                self.facts.aliases.append(Alias(start or one.name, original, one.asname, node.lineno))
            if runs:
                self.facts.imports.append(Import(start, one.name) if start else Import(one.name))


def _start(node: ast.ImportFrom, package: str) -> str:
    """Returns the full name of the module that `from ... import` names."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parents = parts[: len(parts) - node.level + 1]
    return ".".join([*parents, *([node.module] if node.module else [])])


def _last_name(node: ast.expr) -> str:
    """Returns `c` for `a.b.c` and for `c[...]`; "" for expressions without a name."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
        case ast.Subscript():
            return _last_name(node.value)
        case _:
            return ""


def _alternatives(node: ast.expr) -> Iterator[str]:
    """Yields the names of the classes in `A`, `(A, B)` and `A | B`."""
    match node:
        case ast.Tuple():
            for element in node.elts:
                yield from _alternatives(element)
        case ast.BinOp():
            yield from _alternatives(node.left)
            yield from _alternatives(node.right)
        case _:
            yield _last_name(node)
