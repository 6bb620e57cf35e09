"""What a draft will cost, what it will tell of its volunteers, and what would fit it better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import MingaError
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.shard_index import INDEX, ShardIndex
from backend.formats.task_file import TaskFile
from backend.server.drafts.record import Draft
from backend.server.drafts.review.checklist import MADE, holds
from backend.server.drafts.task_tables import begin, fixed, parsed
from backend.server.estimates.data_supply import Supply, cut_supply, expected_supply, own_supply
from backend.server.estimates.traffic import traffic
from backend.server.mesh.averaging_plan import averages_of
from backend.server.schemes import scheme_of
from backend.server.tasks.model_inspection import Inspection, inspect

# How many volunteers a plan is made for where nobody said it.
VOLUNTEERS = 10


@dataclass(frozen=True)
class DraftProducts:
    """What was made of a draft: a converted model, and shards where they are cut."""

    manifest: Manifest
    manifest_bytes: int
    shards: ShardIndex | None

    def inspection(self, file: TaskFile | None = None, program: int | None = None) -> Inspection:
        """What the model asks of devices, in the task of that `file`."""
        averages = None if file is None else averages_of(file, self.manifest.parameters.total)
        shards = () if self.shards is None else self.shards.train
        each = 1 if file is None else file.data.shards_per_client
        wire = traffic(self.manifest, self.manifest_bytes, shards, each, program, averages)
        return inspect(self.manifest, wire)


def products_of(draft: Draft, folder: Path) -> DraftProducts | None:
    """None as long as the model is not converted."""
    if not holds(draft, "convert", folder):
        return None
    content = (folder / MADE["convert"] / "bundle.json").read_bytes()
    index = None
    if holds(draft, "cut", folder):
        index = msgspec.json.decode((folder / MADE["cut"] / INDEX).read_bytes(), type=ShardIndex)
    return DraftProducts(parse_manifest(content), len(content), index)


def cost_preview(
    draft: Draft,
    folder: Path,
    tables: Mapping[str, Any] | None,
    volunteers: int | None,
    brought: int | None,
    program: int | None,
) -> dict[str, Any]:
    """The costs of the draft with `tables` instead of its own, and proposals (docs/reference/drafts.md).

    `brought` is what one volunteer brings, `program` the bytes of the web app.
    """
    told: dict[str, Any] = {"problem": None, "waits": None, "estimate": None, "proposals": []}
    # As it was begun: nobody has looked at its plan yet.
    told["fresh"] = draft.task.get("coordination") == begin("new", "New")["coordination"]
    try:
        file = parsed(draft.task if tables is None else fixed(tables))
    except MingaError as error:
        return told | {"problem": str(error)}
    made = products_of(draft, folder)
    if made is None:
        return told | {"waits": "Convert the model first: costs follow from its size and its work."}
    supply = _supply(draft, file, made, brought)
    if supply is None:
        return told | {"waits": "Look at the data first: costs follow from how many examples there are."}
    people = volunteers or max(VOLUNTEERS, file.coordination.wanted)
    inspection = made.inspection(file, program)
    facts = (made.manifest, inspection.traffic, inspection.step_times, supply, people)
    scheme = scheme_of(file)
    return told | {
        "estimate": scheme.estimate(file, *facts).to_json(),
        "supply": asdict(supply),
        "batch_size": made.manifest.batch_size,
        "optimizer": {
            "name": made.manifest.optimizer.name,
            "learning_rate": made.manifest.optimizer.learning_rate,
        },
        "proposals": [asdict(one) for one in scheme.propose(file, *facts)],
    }


def _supply(draft: Draft, file: TaskFile, made: DraftProducts, brought: int | None) -> Supply | None:
    """What there is to train on; None where nothing is known yet."""
    if file.data.own is not None:
        return own_supply(file, brought)
    if made.shards is not None:
        return cut_supply(made.shards)
    look = draft.jobs.get("look")
    if look is None or look.result is None:
        return None
    return expected_supply(int(look.result["examples"]), file, made.manifest)
