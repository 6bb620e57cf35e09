"""Finds functions in TypeScript's tokens: declarations, methods and arrows, with their lengths.

A function has parameters in parentheses, an optional return type, and then a body in braces or `=>`.
"""

from __future__ import annotations

from scripts.layout.facts import Function
from scripts.layout.typescript_tokens import Source

# The parentheses after these words hold no parameters.
_CONTROL = frozenset(("if", "for", "while", "switch", "catch", "with", "await", "return"))
_STATEMENTS = frozenset(
    (
        "case",
        "default",
        "return",
        "if",
        "for",
        "while",
        "const",
        "let",
        "throw",
        "break",
        "switch",
        "do",
        "else",
        "try",
    )
)
_BEFORE_TYPE = frozenset(("is", "extends", "keyof", "infer", "typeof", "readonly", "asserts", "unique"))


def functions(source: Source) -> list[Function]:
    """Returns all functions of a file, including nested ones, in the order of their parameters."""
    functions_by_body: dict[int, Function] = {}
    for index, token in enumerate(source.tokens):
        if token.text == "(" and token.kind == "mark":
            body = _after_parameters(source, index)
        elif token.kind == "name" and source.text(index + 1) == "=>" and source.text(index - 1) != ":":
            body = index + 1
        else:
            continue
        # A body belongs to the leftmost parameters: parentheses in a return type are none.
        if body is None or body in functions_by_body:
            continue
        is_arrow = source.text(body) == "=>"
        function = _arrow(source, index, body) if is_arrow else _declared(source, index, body)
        if function is not None:
            functions_by_body[body] = function
    return list(functions_by_body.values())


def _after_parameters(source: Source, start: int) -> int | None:
    """Returns the `{` or `=>` after parameters and return type, if `start` begins parameters."""
    after: int | None = source.partner[start] + 1
    if source.text(source.partner[start] + 1) == ":":
        after = _skip_type(source, source.partner[start] + 2)
    return after if after is not None and source.text(after) in ("=>", "{") else None


def _declared(source: Source, start: int, body: int) -> Function | None:
    """Returns the function or method with parameters at `start` and a body; None for `if` and such."""
    before = _before_type_parameters(source, start)
    if source.text(before) in ("*", "function"):
        return _function(source, "", before, source.partner[body])
    named = source.is_name(before) and source.text(before) not in _CONTROL
    computed = source.text(before) == "]" or (before >= 0 and source.tokens[before].kind == "string")
    if not (named or computed) or source.text(before - 1) in ("extends", "new"):
        return None
    return _function(source, source.text(before), before, source.partner[body])


def _arrow(source: Source, start: int, arrow: int) -> Function:
    """Returns the arrow function whose parameters begin at `start`, with `=>` at `arrow`."""
    body = arrow + 1
    end = source.partner[body] if source.text(body) == "{" else _end_of_expression(source, body)
    before = _before_type_parameters(source, start)
    if source.text(before) == "async":
        before -= 1
    # In a type, a member may be a function, too: `wake: () => void`.
    may_be_type = source.text(before) == ":" and source.text(body) != "{"
    return _function(source, "" if may_be_type else _arrow_name(source, before), before + 1, end)


def _arrow_name(source: Source, before: int) -> str:
    """Returns the arrow's target: a variable or property by its name, a call as `name()`."""
    if source.text(before) in ("=", ":") and source.is_name(before - 1):
        return source.text(before - 1)
    parenthesis = source.parent[before] if source.text(before) != "(" else before
    while source.text(parenthesis) == "(" and source.text(parenthesis - 1) == ")":
        parenthesis = source.partner[parenthesis - 1]
    if source.text(parenthesis) != "(":
        return ""
    callee = parenthesis - 1
    while source.text(callee - 1) == "." and source.is_name(callee - 2):
        callee -= 2
    return f"{source.text(callee)}()" if source.is_name(callee) else ""


def _function(source: Source, name: str, first: int, last: int) -> Function:
    end = source.tokens[last]
    line = source.tokens[first].line
    return Function(name, line, end.line + end.text.count("\n") - line + 1)


def _before_type_parameters(source: Source, start: int) -> int:
    """Returns the index before parameters at `start` and the `<T>` before them."""
    index = start - 1
    if source.text(index) != ">":
        return index
    depth = 0
    while index >= 0:
        depth += (source.text(index) == ">") - (source.text(index) == "<")
        index -= 1
        if not depth:
            break
    return index


def _end_of_expression(source: Source, index: int) -> int:
    """Returns the last index of the expression, or of the type, that begins at `index`."""
    last, angles = index, 0
    while index < len(source.tokens):
        text, is_mark = source.text(index), source.tokens[index].kind == "mark"
        if is_mark and text in (",", ";", ")", "]", "}"):
            break
        # A type ends here: its function's body follows, or it is an argument of another type.
        if text == "{" and (source.is_name(last) or source.text(last) in (">", "]", "void")):
            break
        angles += (text == "<") - (text == ">")
        if angles < 0 and source.text(index + 1) in (">", "=", "("):
            break
        last = source.partner[index] if is_mark and index in source.partner else index
        index = last + 1
    return last


def _skip_type(source: Source, index: int) -> int | None:
    """Returns where the return type at `index` ends: its body's brace or `=>`.

    Returns None if it is no function's type.
    """
    expected = True
    while index < len(source.tokens):
        text = source.text(index)
        if text == "{" and not expected:
            return index
        if text == "=>":
            return index
        if text in (";", ",", ")", "]", "}", "=", "?") or text in _STATEMENTS:
            return None
        if text == "(" and expected and _is_function_type(source, index):
            index = source.partner[index] + 2
            continue
        if text == "<":
            index = _end_of_type_arguments(source, index)
        elif index in source.partner:
            index = source.partner[index]
        expected = text in ("|", "&", ".") or text in _BEFORE_TYPE
        index += 1
    return None


def _is_function_type(source: Source, start: int) -> bool:
    """Returns whether the parenthesis at `start` holds the parameters of a function's type."""
    first, end = start + 1, source.partner[start]
    if source.text(end + 1) != "=>":
        return False
    return first == end or source.text(first) == "..." or source.text(first + 1) in (":", "?")


def _end_of_type_arguments(source: Source, index: int) -> int:
    depth = 0
    while index < len(source.tokens):
        depth += (source.text(index) == "<") - (source.text(index) == ">")
        if not depth:
            return index
        index += 1
    return index - 1
