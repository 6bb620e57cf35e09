"""Translates a module of messages into TypeScript checks."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from scripts.wire_types.python_source import (
    CONSTANTS,
    UNIONS,
    home_of,
    is_message,
    module_of,
    tree_of,
    used_aliases,
)
from scripts.wire_types.typescript import TypeScript, camel, kebab, row, text, whole

PLAIN = {
    "float": "fields.real",
    "bool": "fields.truth",
    "str": "fields.text()",
    "int": "fields.whole()",
    "bytes": "fields.bytesOf(0, Number.POSITIVE_INFINITY)",
    "memoryview": "fields.bytes",
}


class ModuleWriter:
    """Translates one module of messages."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = module_of(name)
        self.out = TypeScript()

    def file(self) -> str:
        """Returns the TypeScript of the module: constants, then fields and messages in its order."""
        for node in tree_of(self.name).body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._is_wanted(name):
                    self._assign(name, value)
                case ast.ClassDef(name=name) if is_message(getattr(self.module, name)):
                    self._message(getattr(self.module, name))
        return self.out.render()

    def _is_wanted(self, name: str) -> bool:
        return name in UNIONS or name in CONSTANTS or (not name.isupper() and name in used_aliases())

    def _assign(self, name: str, value: ast.expr) -> None:
        if name in CONSTANTS:
            found = getattr(self.module, name)
            self.out.add(name, f'"{found}"' if isinstance(found, str) else f"{found}")
        elif name in UNIONS:
            messages = get_args(getattr(self.module, name))
            rows = [row(one.__struct_config__.tag, self._reference(one.__name__)) for one in messages]
            self.out.add(camel(name), "{ " + ", ".join(rows) + " } as const")
        else:
            self.out.add(camel(name), self._check(value))

    def _message(self, message: type[msgspec.Struct]) -> None:
        # Those of its base come first.
        classes = [node for one in reversed(message.__mro__) for node in self._class_nodes(one)]
        fields = [
            row(one.target.id, self._check(one.annotation))
            for node in classes
            for one in node.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        ]
        body = "{ " + ", ".join(fields) + " }"
        value = f"{body} as const" if message.__struct_config__.tag else f"fields.record({body})"
        self.out.add(camel(message.__name__), value, inspect.getdoc(message))

    def _class_nodes(self, found: type) -> list[ast.ClassDef]:
        nodes = [one for one in tree_of(self.name).body if isinstance(one, ast.ClassDef)]
        return [one for one in nodes if one.name == found.__name__]

    def _reference(self, name: str) -> str:
        """Returns the constant of a name, imported from the module that defines it."""
        if (home := home_of(self.name, name)) != self.name:
            self.out.imports.setdefault(kebab(home), set()).add(camel(name))
        return camel(name)

    def _check(self, node: ast.expr) -> str:
        """Returns the check of a type."""
        match node:
            case ast.Name(id=name):
                return PLAIN.get(name) or self._reference(name)
            case ast.BinOp(op=ast.BitOr()):
                return self._union(list(_alternatives(node)))
            case ast.Subscript(value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[base, meta])):
                return self._limited(base, self._limits(meta))
            case ast.Subscript(value=ast.Name(id="Literal")):
                return self._words([node])
            case ast.Subscript(value=ast.Name(id="list"), slice=item):
                return f"fields.list({self._check(item)})"
            case ast.Subscript(value=ast.Name(id="tuple")) if ast.unparse(node) == "tuple[float, float]":
                return "fields.pair"
            case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=[first, second])) if (
                ast.unparse(first) == ast.unparse(second)
            ):
                return f"fields.list({self._check(first)}, 2, 2)"
        raise ValueError(f"{self.name}: nothing is known of the type {ast.unparse(node)}")

    def _union(self, parts: list[ast.expr]) -> str:
        present = [one for one in parts if not (isinstance(one, ast.Constant) and one.value is None)]
        if len(present) < len(parts):
            (one,) = present
            return f"fields.nullable({self._check(one)})"
        return self._words(parts)

    def _words(self, parts: list[ast.expr]) -> str:
        """Returns the check of one of several words, which may be named elsewhere."""
        words = [word for one in parts for word in get_args(self._value(one))]
        quoted = [f'"{word}"' for word in words]
        return f"fields.oneOf({', '.join(quoted)})"

    def _value(self, node: ast.expr) -> Any:
        return eval(ast.unparse(node), vars(self.module))  # noqa: S307 - it is our own source.

    def _limits(self, meta: ast.expr) -> dict[str, Any]:
        limits = self._value(meta)
        names = ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern")
        return {name: value for name in names if (value := getattr(limits, name)) is not None}

    def _limited(self, base: ast.expr, limits: dict[str, Any]) -> str:
        least, most = limits.get("min_length", 0), limits.get("max_length")
        match ast.unparse(base):
            case "int":
                return whole(limits)
            case "float" if limits == {"gt": 0.0, "le": 1.0}:
                return "fields.portion"
            case "str":
                return text(limits)
            case "bytes":
                return f"fields.bytesOf({least})" if least == most else f"fields.bytesOf({least}, {most})"
            case "dict[Annotated[str, Meta(max_length=64)], float]":
                return f"fields.numbers({most})"
            case items if items.startswith("list[") and isinstance(base, ast.Subscript):
                bounds = [one for one in (most, least) if one]
                return f"fields.list({', '.join([self._check(base.slice), *map(str, bounds)])})"
        raise ValueError(f"{self.name}: nothing is known of {ast.unparse(base)} with {limits}")


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    else:
        yield node
