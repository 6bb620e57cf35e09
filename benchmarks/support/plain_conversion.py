"""The converter without its comparison with Keras, as a floor; it takes the arguments of `converter`."""

from __future__ import annotations

import sys
from typing import Any

import converter.__main__
from converter.validation.second_opinion import opinion


def _nothing(*_given: Any, **_named: Any) -> dict[str, Any]:
    return {"worst": 0.0}


def main() -> int:
    """Converts; the manifest says nothing about a comparison."""
    opinion.second_opinion = _nothing
    return converter.__main__.main()


if __name__ == "__main__":
    sys.exit(main())
