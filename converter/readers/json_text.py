"""Parses untrusted JSON with bounds on size and depth, before other code walks it."""

from __future__ import annotations

import json
from typing import Any

from converter.refusal import Refusal

MAX_JSON_BYTES = 16 << 20
MAX_DEPTH = 200


def read_json(text: bytes | str, place: str) -> Any:
    """Returns the parsed text. Raises Refusal, naming `place`, if too large, too deep or not JSON."""
    if len(text) > MAX_JSON_BYTES:
        raise Refusal(f"{place} is larger than {MAX_JSON_BYTES >> 20} MiB; save the model again.")
    try:
        value = json.loads(text)
        _check_depth(value)
    except RecursionError as error:
        raise Refusal(
            f"{place} is nested too deeply; save the model again with fewer nested models."
        ) from error
    except ValueError as error:
        raise Refusal(f"{place} is damaged, it is no JSON; save the model again.") from error
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise RecursionError


def _children(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return [v for v in node.values() if isinstance(v, dict | list)]
    return [v for v in node if isinstance(v, dict | list)] if isinstance(node, list) else []
