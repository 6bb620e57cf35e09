"""Wraps a page's function into the body of a WebDriver script, whose answer is JSON."""

from __future__ import annotations

import json
from typing import Any

_BODY = """
const done = arguments[arguments.length - 1];
const argument = JSON.parse(arguments[0]);
Promise.resolve((%s)(argument)).then(
  (value) => done(JSON.stringify({ value: value === undefined ? null : value })),
  (error) => done(JSON.stringify({ fault: String(error && error.stack ? error + error.stack : error) })),
);
"""


def script_body(script: str) -> str:
    """Returns the body for `script`, a function of one argument that the page's own policy need not allow."""
    return _BODY % script


def script_value(answer: str) -> Any:
    """Returns what the function returned. Raises RuntimeError with what it threw."""
    read = json.loads(answer)
    if "fault" in read:
        raise RuntimeError(read["fault"])
    return read["value"]
