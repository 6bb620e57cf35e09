"""Runs light clients of work units in one process, each with its own connection and character.

Usage: python -m benchmarks.units.clients.client_process ADDRESS TASK CACHE, started by
benchmarks.units.chaos. The first input line is JSON, a list of {"token", "character"}. The process prints
`joined N` when all clients are started, and each event of a Volunteer as a word with the client's id. The
next input line ends it; it then prints one line of JSON with all diaries.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path

import httpx

from benchmarks.units.clients.light_client import Character, Volunteer
from benchmarks.units.clients.shared_trainer import SharedTrainer


async def main() -> None:
    """Runs the clients until the next input line."""
    address, task, cache = sys.argv[1:]
    setups = json.loads(await asyncio.to_thread(sys.stdin.readline))
    trainer = SharedTrainer(address, Path(cache))
    async with httpx.AsyncClient(timeout=600) as client:
        summary = (await client.get(f"http://{address}/api/tasks/{task}")).json()
    await trainer.open(summary["bundle"])
    volunteers = [
        Volunteer(address, task, trainer, Character(**setup["character"]), setup["token"], _print_event)
        for setup in setups
    ]
    running = [asyncio.create_task(volunteer.run()) for volunteer in volunteers]
    print("joined", len(running), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for run in running:
        run.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await trainer.close()
    print(json.dumps([asdict(volunteer.diary) for volunteer in volunteers]), flush=True)


def _print_event(word: str, client: str) -> None:
    print(word, client, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
