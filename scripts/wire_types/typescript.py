"""The TypeScript of one module of checks."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

MOST_SAFE = 2**53 - 1
WIDTH = 118


@dataclass
class TypeScript:
    """The text of one module: `lines` in order, and the names it takes from other modules."""

    lines: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    imports: dict[str, set[str]] = field(default_factory=dict)

    def add(self, name: str, value: str, doc: str | None = None) -> None:
        """Adds an exported constant. Raises ValueError if the module has one of this name."""
        if name in self.names:
            raise ValueError(f"two things are called {name}; rename one")
        self.names.add(name)
        self.lines += ["", _comment(doc)] if doc else []
        self.lines.append(f"export const {name} = {value};")

    def render(self) -> str:
        """Returns the file."""
        head = ["// Written by `python -m scripts.wire_types.command` from backend/wire.", ""]
        if any("fields." in line for line in self.lines):
            head.append('import * as fields from "../fields";')
        for module, names in sorted(self.imports.items()):
            head.append(f'import {{ {", ".join(sorted(names))} }} from "./{module}";')
        return "\n".join([*head, "", *self.lines])


def row(name: str, value: str) -> str:
    """Returns a property of an object."""
    return name if name == value else f"{name}: {value}"


def whole(limits: dict[str, Any]) -> str:
    """Returns the check of a whole number."""
    most = limits.get("le", limits["lt"] - 1 if "lt" in limits else MOST_SAFE)
    least = limits.get("ge", -MOST_SAFE)
    return f"fields.whole({least})" if most == MOST_SAFE else f"fields.whole({least}, {most})"


def text(limits: dict[str, Any]) -> str:
    """Returns the check of a text."""
    names = {"min_length": "min", "max_length": "max"}
    given = [f"{names[name]}: {limits[name]}" for name in names if name in limits]
    if pattern := limits.get("pattern"):
        given.append(f"pattern: /{pattern.replace('/', chr(92) + '/').replace(chr(92) + 'Z', '$')}/")
    return f"fields.text({{ {', '.join(given)} }})"


def _comment(doc: str) -> str:
    paragraphs = [" ".join(one.split()) for one in doc.split("\n\n")]
    text = "\n\n".join(textwrap.fill(one, WIDTH) for one in paragraphs)
    if "\n" not in text and len(text) < WIDTH - 4:
        return f"/** {text} */"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in text.split("\n")), " */"])


def camel(name: str) -> str:
    """Returns the name of a constant for what Python calls `name`."""
    return name if name.isupper() else name[0].lower() + name[1:]


def kebab(module: str) -> str:
    """Returns the name of a module's file."""
    return module.replace("_", "-")
