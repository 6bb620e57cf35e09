"""Trains a work unit again in Node.js, and compares the result with the server's record."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from backend.commands.replay.report import OTHER, OWN, finding_sentence, result_sentence
from backend.commands.server_client import ServerClient, server_at
from backend.commands.terminal.progress import TerminalProgress
from backend.commands.tokens import token_for
from backend.errors import GoneError, MingaError, NotFoundError, PeerError
from backend.peer.data.blob_cache import LARGEST_BLOB
from backend.peer.exact.node_runtime import find_node
from backend.peer.replay.comparison import compare
from backend.peer.replay.replayer import UnitReplayer, open_replayer
from backend.peer.replay.trace_file import UnitTrace, read_trace, write_trace
from backend.peer.replay.unit_facts import UnitFacts, UnitResult, parse_facts
from backend.protocols.replay.checkpoints import parting

# The exit code where a result, or another machine's trace, differs from the replay.
DIFFERS = 3


def run(args: argparse.Namespace) -> int:
    """Replays; returns DIFFERS if a result or the other trace differs. Raises MingaError."""
    url = args.server if "://" in args.server else f"http://{args.server}"
    server = server_at(args.server, token_for(url.rstrip("/")))
    find_node()
    other = read_trace(args.against) if args.against else None
    facts = _facts(server, args.task, args.unit)
    if other is not None and other.work != facts.work:
        raise PeerError(f"{args.against} is not a trace of unit {args.unit} of {args.task}.")
    with TerminalProgress(f"Training unit {args.unit} again.", quiet=args.json):
        report = asyncio.run(_replay(server, facts, other, args.save))
    if args.json:
        print(json.dumps({key: value for key, value in report.items() if key != "sentences"}))
    else:
        print("\n".join(report["sentences"]))
    return DIFFERS if report["differs"] else 0


def _facts(server: ServerClient, task: str, unit: int) -> UnitFacts:
    """Returns the unit's facts. Raises NotFoundError, or GoneError where its weights are no longer kept."""
    path = f"/api/tasks/{quote(task, safe='')}/units/{unit}"
    try:
        facts = parse_facts(server.send("GET", path).content, server.url)
    except NotFoundError as error:
        server.summary(task)
        raise NotFoundError(str(error)) from error
    if not facts.kept:
        raise GoneError(
            f"The server no longer keeps the weights that unit {unit} began with: it has those of newer "
            "units only. Replay a unit soon after it was trained."
        )
    return facts


async def _replay(
    server: ServerClient, facts: UnitFacts, other: UnitTrace | None, save: Path | None
) -> dict[str, Any]:
    """Returns the report for programs, with `sentences` for people."""
    async with open_replayer(facts.work, _ServerBlobs(server)) as replayer:
        trace = await replayer.trace(ops=save is not None) if save or other else None
        own = trace.update.hex() if trace else await replayer.update(facts.work.steps)
        rows = [await _compare(replayer, facts, own, result) for result in facts.results]
        report: dict[str, Any] = {"unit": facts.unit, "steps": facts.work.steps, "sha256": own}
        sentences = [
            f"Unit {facts.unit}, {facts.work.steps} steps, replayed: its update has the SHA-256 {own}.",
            *(result_sentence(row) for row in rows),
        ]
        report |= {"results": rows, "differs": any(row["equal"] is False for row in rows)}
        if trace is not None and save is not None:
            report["bytes"] = write_trace(save, trace)
            sentences.append(f"{save}: the trace, {report['bytes']:,} bytes.")
        if trace is not None and other is not None:
            found, sentence = await _part(replayer, trace, other, rows)
            report |= {"against": found, "differs": report["differs"] or found is not None}
            sentences.append(sentence)
        return report | {"sentences": sentences}


async def _compare(replayer: UnitReplayer, facts: UnitFacts, own: str, result: UnitResult) -> dict[str, Any]:
    """Returns a result with `equal`: whether it has the replay's bits; None if that cannot be said."""
    row: dict[str, Any] = {"client": result.client, "backend": result.backend, "sha256": result.sha256}
    row |= {"verdict": result.verdict, "start": result.start, "steps": result.steps}
    if result.sha256 is None or not result.steps or result.start != "given" or result.backend != "exact":
        return row | {"equal": None}
    expected = own if result.steps == facts.work.steps else await replayer.update(result.steps)
    if expected == result.sha256:
        return row | {"equal": True}
    parts = parting(facts.work.steps, await replayer.checkpoints(), result.checkpoints)
    return row | {"equal": False, "parts": parts and asdict(parts)}


async def _part(
    replayer: UnitReplayer, own: UnitTrace, other: UnitTrace, rows: list[dict[str, Any]]
) -> tuple[dict[str, Any] | None, str]:
    """Returns where the traces part, for programs and for people; None if they are of the same bits."""
    if own.update == other.update:
        return None, "The other trace has the same update, bit for bit."
    comparison = await compare(replayer, {OWN: own, OTHER: other})
    finding = comparison.finding
    clients = [row["client"] for row in rows if row["sha256"] == other.update.hex()]
    found = {
        "step": finding.step,
        "tensor": finding.tensor,
        "op": comparison.op,
        "wrong": list(finding.wrong),
        "reason": finding.reason,
        "questions": comparison.questions,
        "clients": clients,
    }
    return found, finding_sentence(comparison, own.work.steps, clients)


class _ServerBlobs:
    """The server's blobs by their SHA-256, each fetched once (a BlobSource)."""

    def __init__(self, server: ServerClient) -> None:
        self._server = server
        self._fetched: dict[str, bytes] = {}

    async def get(self, sha256: str, at_most: int = LARGEST_BLOB) -> bytes:
        """Returns the blob. Raises PeerError if the server has it no more, or sends other bytes."""
        if sha256 not in self._fetched:
            self._fetched[sha256] = await asyncio.to_thread(self._fetch, sha256, at_most)
        return self._fetched[sha256]

    def _fetch(self, sha256: str, at_most: int) -> bytes:
        try:
            with self._server.file(f"/blobs/{sha256}") as answer:
                content: bytes = answer.read(at_most)
        except NotFoundError as error:
            raise PeerError(f"The server no longer has a file of this unit ({sha256[:12]}).") from error
        except MingaError as error:
            raise PeerError(str(error)) from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise PeerError(f"Blob {sha256[:12]} arrived damaged; try again.")
        return content
