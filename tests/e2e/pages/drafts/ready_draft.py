"""A draft of which everything is done, made of a task of a few bytes: no TensorFlow has to start for it."""

from __future__ import annotations

from pathlib import Path

from backend.server.drafts.record import BrowserDryRun, DraftJob, JobLine, read_draft, write_draft
from backend.server.drafts.review.checklist import MADE, fingerprint
from tests.support.web.draft_client import ABOUT, Drafter
from tests.support.web.server_process import Server


def make_ready(server: Server, data: Path, drafter: Drafter, name: str) -> str:
    """The id of a new draft like the task `tiny` of the server, as it is after its dry run.

    The dry run itself is written into the record, while the server is down.
    """
    made = drafter.send("POST", "/api/tasks/tiny/clone", {"name": name}).json
    folder = data / "drafts" / made["id"]
    server.stop()
    draft = read_draft(folder)
    draft.task |= ABOUT
    of = fingerprint(draft, "rehearse")
    draft.jobs["rehearse"] = DraftJob(
        "done", of, 0.0, 0.0, [JobLine(0.0, "Keras and the converted model agree.")]
    )
    (folder / MADE["rehearse"]).mkdir()
    draft.tried = [BrowserDryRun(of, 0.0, "Firefox on Linux", "wasm", "agrees", "The same step.")]
    write_draft(folder, draft)
    server.start()
    return draft.id
