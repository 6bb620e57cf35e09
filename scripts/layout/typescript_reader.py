"""Reads the facts of one TypeScript file from its tokens, without a compiler."""

from __future__ import annotations

from collections import Counter

from scripts.layout.facts import Alias, Definition, Facts, Import
from scripts.layout.typescript_functions import functions
from scripts.layout.typescript_tokens import Source, read_source


def read_typescript(text: str) -> Facts:
    """Returns the facts of a file. Raises ValueError where its brackets don't match."""
    source = read_source(text)
    facts = Facts(text.count("\n"))
    facts.functions = functions(source)
    facts.identifiers = Counter(token.text.lstrip("#@") for token in source.tokens if token.kind == "name")
    for index, token in enumerate(source.tokens):
        if token.kind != "name":
            continue
        at_top = source.parent[index] < 0
        if token.text == "import":
            _read_import(source, index, facts)
        elif token.text == "export" and at_top:
            _read_export(source, index, facts)
        elif at_top and _is_definition(source, index):
            facts.classes.append(Definition(source.text(index + 1), token.line))
    return facts


def _is_definition(source: Source, index: int) -> bool:
    """Returns whether a class, interface, enum or type is defined here."""
    if not source.is_name(index + 1):
        return False
    word = source.text(index)
    return word in ("class", "interface", "enum") or (word == "type" and source.text(index + 2) in ("=", "<"))


def _read_import(source: Source, index: int, facts: Facts) -> None:
    """Reads `import "a"`, `import("a")`, `import a, { b as c } from "a"`, `import * as a from "a"`."""
    following = index + 1
    if source.text(following) == "(":
        following += 1
    elif source.text(following) == "." or source.parent[index] >= 0:
        return
    if source.tokens[following].kind == "string":
        facts.imports.append(Import(_unquoted(source.text(following))))
        return
    end = following
    while end < len(source.tokens) and source.tokens[end].kind != "string":
        end += 1
    if end == len(source.tokens) or source.text(end - 1) != "from":
        return
    module = _unquoted(source.text(end))
    _read_aliases(source, following, end, module, facts)
    if not _only_types(source, following, end):
        facts.imports.append(Import(module))


def _read_export(source: Source, index: int, facts: Facts) -> None:
    """Reads `export { a } from "a"` and `export * from "a"`, which import, too."""
    if source.text(index + 1) == "{":
        end = source.partner[index + 1] + 1
    elif source.text(index + 1) == "*":
        end = index + (4 if source.text(index + 2) == "as" else 2)
    else:
        return
    if source.text(end) == "from":
        facts.imports.append(Import(_unquoted(source.text(end + 1))))


def _read_aliases(source: Source, start: int, end: int, module: str, facts: Facts) -> None:
    for index in range(start, end):
        if source.text(index) != "as" or source.text(index - 1) in ("{", ","):
            continue
        original = source.text(index - 1)
        if original == "*":
            original = module.partition("?")[0].rpartition("/")[2]
        if original != "default":
            line = source.tokens[index].line
            facts.aliases.append(Alias(module, original, source.text(index + 1), line))


def _only_types(source: Source, start: int, end: int) -> bool:
    """Returns whether an import's names (`start` to before `end`) are types, so nothing of it runs."""
    if source.text(start) == "type" and source.text(start + 1) not in ("from", ","):
        return True
    if source.text(start) != "{":
        return False
    names = [index for index in range(start + 1, end) if source.text(index - 1) in ("{", ",")]
    return all(source.text(index) in ("type", "}") for index in names)


def _unquoted(text: str) -> str:
    return text[1:-1]
