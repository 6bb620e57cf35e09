"""How long browsers take to average, with each other and with peers in Python, over WebRTC.

Usage: python -m benchmarks.mesh.allreduce_browser [--parameters P ...] [--precision float16]
           [--repetitions R] [--json]

Members are pages of one Chromium, each in a process of its own, and peers in this process (aiortc). A
repetition is timed from a member's order to its result, and counts as the slowest member; all must end with
the same bits. `stalled_seconds` is the longest time for which a page could do nothing else, `memcpy_seconds`
what copying all bytes that go over links once takes one core of the same machine in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import uvloop
from playwright.async_api import async_playwright

from backend.numerics.precision import encoded_size
from backend.wire.mesh_fields import Precision
from benchmarks.rounds import copying_seconds
from tests.support.browser.averaging_peers import average_together, linked_members, order_of
from tests.support.browser.chromium import launch
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import build_harness

GROUPS = [("page", "page"), ("page", "peer"), ("page", "page", "page", "page")]
PARAMETERS = (1_000_000, 5_000_000)


@dataclass(frozen=True)
class Row:
    """The measurements of one group and size; seconds are the median of the repetitions."""

    members: str
    parameters: int
    precision: str
    seconds_median: float
    seconds_lowest: float
    stalled_seconds: float
    memcpy_seconds: float
    sent_bytes: int
    repetitions: int


async def run(sizes: Sequence[int], precision: Precision, repetitions: int) -> AsyncIterator[Row]:
    """Measures all groups with all sizes."""
    with serve({"/harness/": build_harness()}) as origin, tempfile.TemporaryDirectory() as folder:
        for kinds in GROUPS:
            async with (
                async_playwright() as playwright,
                await launch(playwright) as browser,
                linked_members(browser, origin, Path(folder), kinds, "webrtc") as members,
            ):
                number = 0
                for values in sizes:
                    seconds, stalled = [], []
                    for _ in range(repetitions + 1):
                        number += 1
                        ends = await average_together(
                            members, order_of(members, values, number, "butterfly", precision)
                        )
                        if len({end["sha256"] for end in ends}) != 1 or ends[0]["fraction"] != 1.0:
                            raise RuntimeError(f"They did not end with the same mean of all: {ends}")
                        seconds.append(max(end["seconds"] for end in ends))
                        stalled.append(max(end.get("stalled", 0.0) for end in ends))
                    sent = encoded_size(values, precision) * 2 * (len(kinds) - 1) // len(kinds)
                    yield Row(
                        members=" + ".join(kinds),
                        parameters=values,
                        precision=precision,
                        seconds_median=round(statistics.median(seconds[1:]), 3),
                        seconds_lowest=round(min(seconds[1:]), 3),
                        stalled_seconds=round(statistics.median(stalled[1:]), 3),
                        memcpy_seconds=round(copying_seconds(sent * len(kinds)), 4),
                        sent_bytes=sent,
                        repetitions=repetitions,
                    )


async def measure(options: argparse.Namespace) -> None:
    """Prints the rows that the options select."""
    rows = []
    async for row in run(options.parameters, options.precision, options.repetitions):
        rows.append(asdict(row))
        if not options.json:
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.json:
        print(json.dumps({"rows": rows}))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mesh.allreduce_browser", description=__doc__)
    parser.add_argument("--parameters", type=int, nargs="+", default=PARAMETERS)
    parser.add_argument("--precision", choices=("float32", "float16", "int8"), default="float16")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    # `minga peer join` uses uvloop as well where it is installed.
    uvloop.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
