"""`minga peer evidence`: says whom a file of evidence bans from a task, of what, and whether it does."""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backend.errors import EvidenceError, PeerError

if TYPE_CHECKING:
    from backend.protocols.mesh.byzantine.evidence.conviction import Conviction


@dataclass(frozen=True)
class _Deed:
    """What somebody did, how this file shows it, and what it rests on, in sentences."""

    why: str
    shown: str
    rests_on: str


_NO_ASSUMPTION = "The file is enough: it does not rest on anyone's word."


def register(actions: Any) -> None:
    """Adds the command and its flags."""
    evidence: argparse.ArgumentParser = actions.add_parser(
        "evidence",
        help="check evidence against a member of a decentralized task whose members check each other",
        examples=("minga peer evidence 3b6a27bcceb6a42d62a3a8d02a6f0d73.evidence",),
    )
    evidence.add_argument("file", type=Path, metavar="FILE", help="the evidence, as a peer stores it")
    evidence.add_argument("--json", action="store_true", help="report in JSON")
    evidence.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints whom the file convicts, of what and when; returns 1, with the reason, if it convicts nobody."""
    from backend.protocols.mesh.byzantine.evidence.conviction import convict

    try:
        content: bytes = args.file.read_bytes()
    except OSError as error:
        raise PeerError(f"The evidence cannot be read: {error}.") from error
    try:
        found = convict(content)
    except EvidenceError as error:
        print(
            json.dumps({"convicts": False, "reason": str(error)})
            if args.json
            else f"This evidence convicts nobody. {error}"
        )
        return 1
    print(_as_json(found, content) if args.json else _as_text(found))
    return 0


def _as_text(found: Conviction) -> str:
    deed = _deed_of(found)
    return "\n".join(
        (
            f"This evidence bans the key {found.identity.hex()} from the task '{found.task}'.",
            f"Who:   client {found.client}, the owner of that key.",
            f"What:  {deed.why}",
            f"When:  in round {found.number} of the run {found.run[:16]}.",
            f"Shown: {deed.shown}",
            f"Trust: {deed.rests_on}",
        )
    )


def _as_json(found: Conviction, content: bytes) -> str:
    deed = _deed_of(found)
    return json.dumps(
        {
            "convicts": True,
            "reason": deed.why,
            "shown": deed.shown,
            "kind": found.kind,
            "identity": found.identity.hex(),
            "client": found.client,
            "task": found.task,
            "run": found.run,
            "round": found.number,
            "phase": found.phase or None,
            "part": found.part if found.kind in ("wrong-mean", "wrong-check") else None,
            "accuser": found.accuser or None,
            "target": found.target or None,
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
        }
    )


def _deed_of(found: Conviction) -> _Deed:
    if found.kind == "two-words":
        return _Deed(
            f"It said two different things in the phase '{found.phase}' of one turn.",
            "Both statements are signed with its key.",
            _NO_ASSUMPTION,
        )
    if found.kind == "wrong-mean":
        return _Deed(
            f"The mean that it signed for part {found.part}, which it owned, is wrong.",
            "Made again of the pieces that it had heard all members commit to, the mean has other bits.",
            _NO_ASSUMPTION,
        )
    if found.kind == "wrong-check":
        return _Deed(
            f"The numbers that it signed about part {found.part} are wrong.",
            "Computed again from its piece, the mean and the coin that it had heard, they are others.",
            _NO_ASSUMPTION,
        )
    majority = "It is right as long as more than half of the members with a seat are honest."
    if found.client == found.accuser:
        return _Deed(
            f"It accused client {found.target} of wrong work, falsely.",
            "More than half of the members with a seat did that work again and found it right.",
            majority,
        )
    if found.accuser and found.client != found.target:
        return _Deed(
            f"It found the work of client {found.target} right, falsely.",
            "More than half of the members with a seat did that work again and got another result.",
            majority,
        )
    accused = f" Client {found.accuser} accused it." if found.accuser else ""
    return _Deed(
        f"It did other work than its task.{accused}",
        "More than half of the members with a seat did its work again and got another result.",
        majority,
    )
