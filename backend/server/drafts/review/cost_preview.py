"""Previews the costs of a draft's task, and proposes better values for its task file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import MingaError, TaskFileError
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.shard_index import INDEX, ShardIndex
from backend.formats.task_file import TaskFile
from backend.server.drafts.record import Draft
from backend.server.drafts.review.checklist import MADE, holds
from backend.server.drafts.task_tables import fixed, parsed
from backend.server.estimates.data_supply import Supply, cut_supply, expected_supply, own_supply
from backend.server.estimates.reasons import Proposal
from backend.server.estimates.traffic import Traffic, traffic
from backend.server.mesh.averaging_plan import averages_of
from backend.server.schemes import scheme_of
from backend.server.tasks.model_inspection import Inspection, StepTime, inspect
from backend.server.tasks.task_validation import check_recipe
from backend.translation import gettext

# Volunteers that the preview assumes if the owner gives no number.
VOLUNTEERS = 10


@dataclass(frozen=True)
class DraftProducts:
    """Results of a draft's jobs: a converted model, and the shards if they are cut."""

    manifest: Manifest
    manifest_bytes: int
    shards: ShardIndex | None

    @property
    def rows(self) -> list[int] | None:
        """Number of examples of each training shard; None until they are cut."""
        return None if self.shards is None else [shard.examples for shard in self.shards.train]

    def inspection(self, file: TaskFile | None = None, program: int | None = None) -> Inspection:
        """Returns what the model requires of devices in the task `file`; `program`: bytes of the web app."""
        averages = None if file is None else averages_of(file, self.manifest.parameters.total)
        shards = () if self.shards is None else self.shards.train
        per_client = 1 if file is None else file.data.shards_per_client
        wire = traffic(self.manifest, self.manifest_bytes, shards, per_client, program, averages)
        return inspect(self.manifest, wire)


def products_of(draft: Draft, folder: Path) -> DraftProducts | None:
    """Returns the results of a draft's jobs; None until the model is converted."""
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
    """Returns the costs of the draft with `tables` instead of its own, and proposals.

    `brought` is the number of examples that one volunteer brings, `program` the bytes of the web app. See
    docs/reference/drafts.md.
    """
    preview: dict[str, Any] = {"problem": None, "waits": None, "estimate": None, "proposals": []}
    try:
        file = parsed(draft.task if tables is None else fixed(tables))
    except MingaError as error:
        return preview | {"problem": str(error)}
    products = products_of(draft, folder)
    if products is None:
        return preview | {
            "waits": gettext("Convert the model first: costs follow from its size and its work.")
        }
    supply = _supply(draft, file, products, brought)
    if supply is None:
        return preview | {
            "waits": gettext("Look at the data first: costs follow from how many examples there are.")
        }
    try:
        check_recipe(file, products.manifest, products.rows)
    except TaskFileError as error:
        return preview | {"problem": str(error)}
    facts = _facts(file, products, supply, volunteers, program)
    scheme = scheme_of(file)
    return preview | {
        "estimate": scheme.estimate(file, *facts).to_json(),
        "supply": asdict(supply),
        "batch_size": products.manifest.batch_size,
        "optimizer": {
            "name": products.manifest.optimizer.name,
            "learning_rate": products.manifest.optimizer.learning_rate,
        },
        "proposals": [asdict(proposal) for proposal in scheme.propose(file, *facts)],
    }


def plan_proposals(draft: Draft, folder: Path, tables: Mapping[str, Any]) -> list[Proposal]:
    """Returns the proposals for the plan in `tables`; none before model and data are known.

    There are none either for tables that are invalid. They assume the usual number of volunteers.
    """
    try:
        file, products = parsed(tables), products_of(draft, folder)
    except (MingaError, OSError):
        return []
    supply = None if products is None else _supply(draft, file, products, None)
    if products is None or supply is None:
        return []
    return list(scheme_of(file).propose(file, *_facts(file, products, supply, None, None)))


def _facts(
    file: TaskFile, products: DraftProducts, supply: Supply, volunteers: int | None, program: int | None
) -> tuple[Manifest, Traffic, list[StepTime], Supply, int]:
    """Returns what estimates and proposals are computed from, after the task file."""
    people = volunteers or max(VOLUNTEERS, file.coordination.required_clients)
    inspection = products.inspection(file, program)
    return products.manifest, inspection.traffic, inspection.step_times, supply, people


def _supply(draft: Draft, file: TaskFile, products: DraftProducts, brought: int | None) -> Supply | None:
    """Returns the supply of training data; None if nothing is known yet."""
    if file.data.own is not None:
        return own_supply(file, brought)
    if products.shards is not None:
        return cut_supply(products.shards)
    look = draft.jobs.get("look")
    if look is None or look.result is None:
        return None
    return expected_supply(int(look.result["examples"]), file, products.manifest)
