"""Drafts whose model is the gallery's digits, converted, cut and rehearsed before their server starts."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import msgspec
import numpy as np

from backend.server.drafts.record import (
    BrowserDryRun,
    Draft,
    DraftJob,
    JobLine,
    StoredFile,
    read_draft,
    write_draft,
)
from backend.server.drafts.review.checklist import MADE, fingerprint
from backend.server.sandbox.dry_run import STEP, Rehearsed, dry_run


class Rehearsal:
    """One native step on the first shard of digits, taken once for all drafts of a module."""

    def __init__(self, built: Path, folder: Path) -> None:
        self.built, self.folder = built, folder
        folder.mkdir()
        self.found = dry_run(built / "bundle", built / "shards", folder)

    def put(self, draft: Path) -> None:
        """The draft in that folder has been through all of a server's work with digits."""
        shutil.copytree(self.built / "bundle", draft / MADE["convert"])
        shutil.copytree(self.built / "shards", draft / MADE["cut"])
        shutil.copytree(self.folder, draft / MADE["rehearse"])
        (draft / MADE["look"]).mkdir()
        record = read_draft(draft)
        record.files["model"] = StoredFile("digits.keras", ".keras", 5, "a" * 64, 0.0)
        record.files["data"] = StoredFile("digits.npz", ".npz", 5, "b" * 64, 0.0)
        for kind in ("convert", "look", "cut", "rehearse"):
            record.jobs[kind] = DraftJob(
                "done", fingerprint(record, kind), 0.0, 0.0, [JobLine(0.0, "It is done.")]
            )
        _found(record, self.found)
        write_draft(draft, record)


def falsify(draft: Path) -> None:
    """Has the server expect another gradient than the one that it computed: one of its signs is turned."""
    path = draft / MADE["rehearse"] / STEP
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    begin, end = json.loads(content[8:start])["gradient"]["data_offsets"]
    gradient = np.frombuffer(content, "<f4", (end - begin) // 4, start + begin)
    gradient[np.argmax(np.abs(gradient))] *= -1
    path.write_bytes(content)
    record = read_draft(draft)
    done = msgspec.convert(record.jobs["rehearse"].result, Rehearsed)
    _found(record, msgspec.structs.replace(done, step=hashlib.sha256(content).hexdigest()))
    write_draft(draft, record)


def tried_before(draft: Path) -> None:
    """A browser agreed with a rehearsal of what has been changed since."""
    record = read_draft(draft)
    record.tried = [
        BrowserDryRun("0" * 32, 0.0, "Firefox on Android", "wasm", "agrees", "It agreed.", step_ms=1.0)
    ]
    write_draft(draft, record)


def _found(record: Draft, result: Rehearsed) -> None:
    record.jobs["rehearse"].result = msgspec.to_builtins(result)
