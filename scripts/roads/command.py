"""Plays each flow and prints how many files of the backend its road crosses."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from pathlib import Path

from scripts.roads.flows import FLOWS, Flow

# What runs by a timer falls into some runs only: a road is what all of so many have in common.
TIMES = 3
# Stores, settings and commands are ends of a road, and not counted.
FLOORS = ("server", "protocols", "numerics", "crypto", "web", "wire")


def measure() -> dict[str, list[str]]:
    """The files of each road, in order."""
    roads = {}
    for name, flow in FLOWS.items():
        files = set.intersection(*(set(_play(flow)) for _ in range(TIMES)))
        roads[name] = sorted(file for file in files if _floor(file) in FLOORS)
    return roads


def _play(flow: Flow) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(flow(Path(folder)))


def show(roads: dict[str, list[str]], as_json: bool, verbose: bool) -> None:
    """Prints counts, by floor too; with `verbose` all files."""
    if as_json:
        counted = {name: {"count": len(files), "files": files} for name, files in roads.items()}
        print(json.dumps(counted, indent=2))
        return
    for name, files in roads.items():
        floors = Counter(_floor(file) for file in files)
        print(f"{name:16} {len(files):3}  {', '.join(f'{floor} {count}' for floor, count in floors.items())}")
        if verbose:
            print("".join(f"  {file}\n" for file in files))


def _floor(file: str) -> str:
    return file.split("/")[1]
