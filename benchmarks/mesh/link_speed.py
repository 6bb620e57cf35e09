"""Measures a link's throughput: two processes and a real server on loopback, vectors of bytes.

Usage: python -m benchmarks.mesh.link_speed [--ways WAY...] [--megabytes N...] [--repeats N]
       [--loop uvloop|asyncio] [--json]

Seconds are measured between the first and the last chunk at the receiver; CPU seconds are those of the sender
and the receiver.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.support.dense_task import ROOT
from benchmarks.support.server_process import serving
from tests.support.tasks.tiny_task import write_mesh

MB = 1_000_000
# By default the server relays 4 MB a second for each peer.
UNLIMITED = {"relay_bytes_per_second": 999_999_999}


class Peer:
    """A `benchmarks.mesh.link_peer` process."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT)

    def say(self, line: str) -> None:
        """Sends a command line to the process."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, event: str) -> dict[str, Any]:
        """Returns the next event of this kind."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message["event"] == event:
                return message
        raise EOFError(f"The peer ended before it said '{event}'.")

    def end(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@contextmanager
def two_peers(url: str, way: str, loop: str) -> Iterator[tuple[Peer, Peer]]:
    """Yields two peers that are linked by `way`."""
    command = [sys.executable, "-m", "benchmarks.mesh.link_peer", url, "tiny", "--ways", way, "--loop", loop]
    listen = ["--listen", "127.0.0.1:0"] if way == "websocket" else []
    peers = [Peer(command + listen), Peer(command)]
    try:
        for peer in peers:
            peer.hear("up")
        yield peers[0], peers[1]
    finally:
        for peer in peers:
            peer.end()


def measure(url: str, way: str, sizes: list[int], repeats: int, loop: str) -> list[dict[str, Any]]:
    """Returns a row for each size."""
    rows = []
    with two_peers(url, way, loop) as (sender, receiver):
        for size in sizes:
            received, cpu = [], []
            for _ in range(repeats):
                sender.say(f"send {size}")
                received.append(receiver.hear("received"))
                cpu.append(sender.hear("sent")["cpu_seconds"])
                assert received[-1]["whole"]
                assert received[-1]["way"] == way
            seconds = statistics.median(one["seconds"] for one in received)
            row = {"way": way, "bytes": size, "seconds_median": round(seconds, 4)}
            row["megabytes_per_second"] = round(size / MB / seconds, 2)
            row["sender_cpu_seconds"] = round(statistics.median(cpu), 3)
            row["receiver_cpu_seconds"] = round(statistics.median(one["cpu_seconds"] for one in received), 3)
            rows.append(row | {"loop": loop})
    return rows


def main() -> None:
    """Prints a row for each way and size."""
    parser = argparse.ArgumentParser(description="Measures the throughput of links on loopback.")
    parser.add_argument("--ways", nargs="+", default=["websocket", "webrtc", "relay"])
    parser.add_argument("--megabytes", nargs="+", type=float, default=[4.0, 20.0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loop", choices=("uvloop", "asyncio"), default="uvloop")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [round(MB * size) for size in options.megabytes]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_mesh(Path(folder, "tasks", "tiny"))
        with serving(Path(folder), **UNLIMITED) as (_, address):
            for way in options.ways:
                rows += measure(f"http://{address}", way, sizes, options.repeats, options.loop)
                if not options.json:
                    for row in rows[-len(sizes) :]:
                        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if options.json:
        print(json.dumps({"processors": os.cpu_count(), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
