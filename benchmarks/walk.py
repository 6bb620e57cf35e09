"""What an owner with own files gets: two walks through the pages, and ten plans that were proposed.

Usage: python -m benchmarks.walk [--plans N] [--without-pages] [--json]

The walks bring a small network with 600 pictures, and one with a table of semicolons and decimal commas
(`benchmarks.pages.owner_walk`). The plans are those of ten pairs of models and data (`benchmarks.plan_set`):
each is to end at least twenty points above chance.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.pages.owner_walk import DATA, PEOPLE, THINGS, measure
from benchmarks.plan_set import pairs, run


def main() -> None:
    """Measures and prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--plans", type=int, default=len(pairs()), help="so many of the ten plans")
    parser.add_argument("--without-pages", action="store_true", help="take no walk")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    if not arguments.without_pages:
        walks = {"pictures": THINGS, "table": PEOPLE}
        figures["walks"] = {name: asdict(asyncio.run(measure(None, files))) for name, files in walks.items()}
    with tempfile.TemporaryDirectory() as name:
        results = run(DATA, Path(name), arguments.plans, lambda text: print(text, file=sys.stderr))
    figures["plans"] = [asdict(result) | {"reached": result.reached} for result in results]
    figures["reached"] = f"{sum(result.reached for result in results)} of {len(results)}"
    print(json.dumps(figures) if arguments.json else json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
