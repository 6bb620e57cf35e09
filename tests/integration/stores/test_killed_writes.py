"""Blobs survive the death of whoever writes them, at any instant."""

from __future__ import annotations

import asyncio
import hashlib
import random
import subprocess
import sys
from pathlib import Path

import pytest

from backend.stores.blobs import FileBlobs

KILLS = 12
LONGEST_LIFE = 0.15
# Puts bytes and files of up to 4 MiB without end, four at a time, and drops every other; tells what is done.
WRITER = """
import asyncio, os, sys
from pathlib import Path
from backend.stores.blobs import FileBlobs

async def write(blobs, number):
    own = Path(sys.argv[1]).with_name(f"own-{number}")
    while True:
        data = os.urandom(1 + int.from_bytes(os.urandom(3)) % (4 << 20))
        if data[0] % 2:
            own.write_bytes(data)
            print("kept", await blobs.put_file(own), flush=True)
        else:
            address = await blobs.put(data)
            print("dropping", address, flush=True)
            await blobs.drop([address])

async def main():
    blobs = FileBlobs(Path(sys.argv[1]))
    print("open", flush=True)
    await asyncio.gather(*(write(blobs, number) for number in range(4)))

asyncio.run(main())
"""


def write_and_die(root: Path, least: int, seconds: float) -> set[str]:
    """Addresses that a writer said were stored before it was killed, `seconds` after the `least` of them."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"open\n"
    said = b""
    while said.count(b"kept") < least:
        line = writer.stdout.readline()
        assert line, "the writer ended by itself"
        said += line
    try:
        writer.wait(seconds)
    except subprocess.TimeoutExpired:
        writer.kill()
    said += writer.communicate()[0]
    assert writer.returncode < 0, "the writer ended by itself"
    lines = [line.split() for line in said.decode().splitlines(keepends=True) if line.endswith("\n")]
    return {address for word, address in lines if word == "kept"}


@pytest.mark.skipif(sys.platform == "win32", reason="the return code tells of the signal")
def test_a_writer_killed_at_any_instant_leaves_whole_blobs_and_loses_none_that_it_told_of(
    tmp_path: Path,
) -> None:
    root, chance, kept = tmp_path / "blobs", random.Random(11), set[str]()
    halves = 0
    for number in range(KILLS):
        # Every other one however little it did, the others when something is there to be lost.
        kept |= write_and_die(root, number % 2, chance.uniform(0, LONGEST_LIFE))
        there = {place.name: place for place in root.glob("??/*")}
        for address, place in there.items():
            assert hashlib.sha256(place.read_bytes()).hexdigest() == address, "half a blob"
        assert kept <= there.keys()
        halves += len(list(root.glob("new-*")))
        asyncio.run(FileBlobs(root).sweep(kept))
        assert {place.name for place in root.glob("??/*")} == kept
        assert [place for place in root.iterdir() if place.is_file()] == []
    assert kept
    assert halves, "no death came within a write"
