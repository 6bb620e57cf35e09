"""Light clients of work units in one process, each with a connection and a character of its own.

Usage: python -m benchmarks.units.clients.client_process ADDRESS TASK CACHE, started by
benchmarks.units.chaos. The first line that it reads is JSON, a list of {"token", "character"}. It prints
`joined N` when all are on their way, and a word with a client's id as Volunteer tells them. The next line
that it reads ends it: it prints one line of JSON with all diaries.
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
    """Runs the clients until their task is finished."""
    address, task, cache = sys.argv[1:]
    given = json.loads(await asyncio.to_thread(sys.stdin.readline))
    trainer = SharedTrainer(address, Path(cache))
    async with httpx.AsyncClient(timeout=600) as client:
        summary = (await client.get(f"http://{address}/api/tasks/{task}")).json()
    await trainer.open(summary["bundle"])
    volunteers = [
        Volunteer(address, task, trainer, Character(**one["character"]), one["token"], _tell) for one in given
    ]
    running = [asyncio.create_task(one.run()) for one in volunteers]
    print("joined", len(running), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for one in running:
        one.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await trainer.close()
    print(json.dumps([asdict(one.diary) for one in volunteers]), flush=True)


def _tell(word: str, client: str) -> None:
    print(word, client, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
