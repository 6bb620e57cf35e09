"""Plays each flow and prints how many files of the backend an update crosses, and how many run."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scripts.roads.flows import FLOWS, Flow
from scripts.roads.serving import Road

# What runs by a timer falls into some runs only: a road is what all of so many have in common.
TIMES = 3
# Stores, settings and commands are ends of a road, and not counted.
FLOORS = ("server", "protocols", "numerics", "crypto", "web", "wire")
# Codecs, mathematics and ciphers are called on the way, and lead nowhere else.
CARRIERS = ("server", "protocols", "web")


def measure() -> dict[str, Road]:
    """The files of each road, in order."""
    return {name: common([_play(flow) for _ in range(TIMES)]) for name, flow in FLOWS.items()}


def common(roads: Sequence[Road]) -> Road:
    """What all of `roads` have in common, of those floors that count."""
    run = set.intersection(*(set(road.run) for road in roads))
    carry = set.intersection(*(set(road.carry) for road in roads))
    return Road(
        run=sorted(file for file in run if _floor(file) in FLOORS),
        carry=sorted(file for file in carry if _floor(file) in CARRIERS),
        called=[
            function for function in roads[0].called if all(function in road.called for road in roads[1:])
        ],
    )


def _play(flow: Flow) -> Road:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(flow(Path(folder)))


def show(roads: dict[str, Road], as_json: bool, verbose: bool) -> None:
    """Prints counts; with `verbose` all files, those that an update crosses with a star."""
    if as_json:
        counts = {
            name: {"crossed": len(road.carry), "run": len(road.run), "files": asdict(road)}
            for name, road in roads.items()
        }
        print(json.dumps(counts, indent=2))
        return
    for name, road in roads.items():
        floors = Counter(_floor(file) for file in road.run)
        parts = ", ".join(f"{floor} {count}" for floor, count in floors.items())
        print(f"{name:16} an update crosses {len(road.carry):3} files; {len(road.run):3} run: {parts}")
        if verbose:
            print("".join(f"  {'*' if file in road.carry else ' '} {file}\n" for file in road.run))


def _floor(file: str) -> str:
    return file.split("/")[1]
