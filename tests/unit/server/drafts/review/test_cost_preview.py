"""What a draft's pages are told of costs and of protection, from the beginning to a model with shards."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from backend.server.drafts.record import Draft, DraftJob
from backend.server.drafts.review.checklist import MADE, checklist, fingerprint
from backend.server.drafts.review.cost_preview import cost_preview, products_of
from backend.server.drafts.review.protection import Protection
from backend.server.drafts.task_tables import begin
from tests.support.tasks.tiny_task import train_everything, write_task

OWN = {"source": "volunteer", "preprocess": {"kind": "array"}}


def done(draft: Draft, kind: Any, result: dict[str, Any] | None = None) -> None:
    draft.jobs[kind] = DraftJob("done", fingerprint(draft, kind), 1.0, 2.0, [], 0, result)


def converted(folder: Path, stateless: bool = False) -> Draft:
    """A draft with a tiny model, and nothing else."""
    draft = Draft("0" * 16, "ana", 1.0, 1.0, begin("cats", "Cats"))
    made = write_task(folder / "made", holdout=1)
    if stateless:
        train_everything(made)
    shutil.copytree(made / "bundle", folder / MADE["convert"])
    shutil.copytree(made / "shards", folder / MADE["cut"])
    done(draft, "convert")
    return draft


def merged(table: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """As the wizard's pages merge (RFC 7396)."""
    result = dict(table)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key, {}), value) if isinstance(value, dict) else value
    return result


def asked(draft: Draft, folder: Path, **task: Any) -> dict[str, Any]:
    return cost_preview(draft, folder, draft.task | task, None, None, 1000)


def test_costs_wait_for_a_model_and_for_examples(tmp_path: Path) -> None:
    new = Draft("0" * 16, "ana", 1.0, 1.0, begin("cats", "Cats"))
    assert "Convert the model first" in asked(new, tmp_path)["waits"]
    draft = converted(tmp_path)
    assert "Look at the data first" in asked(draft, tmp_path)["waits"]
    done(draft, "look", {"examples": 400})
    found = asked(draft, tmp_path)
    assert found["supply"] == {"examples": 360, "shards": 16, "bytes": 360 * 3 * 4, "counted": False}
    done(draft, "cut")
    found = asked(draft, tmp_path)
    assert (found["supply"]["examples"], found["supply"]["shards"], found["supply"]["counted"]) == (
        30,
        6,
        True,
    )
    assert found["estimate"]["volunteers"] == 10
    assert {one["key"] for one in found["proposals"]} >= {"training.epochs", "coordination.rounds"}
    # How many shards a client gets is no reason to cut anew.
    draft.task["data"]["shards_per_client"] = 3
    assert asked(draft, tmp_path)["supply"]["counted"]
    draft.task["data"]["holdout"] = 0.4
    assert not asked(draft, tmp_path)["supply"]["counted"]


def test_a_plan_that_is_not_sound_is_told_by_the_sentence_about_it(tmp_path: Path) -> None:
    draft = converted(tmp_path)
    told = asked(draft, tmp_path, coordination={"scheme": "federated", "rounds": 0})
    assert "rounds" in told["problem"]
    assert told["estimate"] is None
    assert "runs a program" in asked(draft, tmp_path, hooks={})["problem"]


def test_a_recipe_that_an_epoch_cannot_fill_is_told_on_the_plan_and_in_the_checklist(tmp_path: Path) -> None:
    draft = converted(tmp_path)
    buffered = {"name": "fedbuff", "buffer": 7}
    trust = {"replicas": 1, "spot_checks": 0.0}
    units = {"epochs": 3, "assimilation": buffered, "trust": trust}
    draft.task["coordination"] = {"scheme": "volunteer", "units": units}
    draft.task["data"].pop("shards_per_client", None)
    done(draft, "look", {"examples": 400})
    assert asked(draft, tmp_path)["problem"] is None
    done(draft, "cut")
    made = products_of(draft, tmp_path)
    assert made is not None
    for buffer, state in ((7, "failed"), (6, "done")):
        buffered["buffer"] = buffer
        items = {one.key: one for one in checklist(draft, tmp_path, made.inspection())}
        assert items["task"].state == state
        problem = asked(draft, tmp_path)["problem"]
        assert (problem is None) == (buffer == 6)
        assert problem is None or "Lower it to 6 or less" in problem


async def test_disclosure_follows_what_is_chosen_without_being_saved(tmp_path: Path) -> None:
    draft, protection = converted(tmp_path), Protection()
    public = await protection.report(draft, tmp_path, None, None)
    assert "public examples" in " ".join(public["disclosure"]["server"])
    own = await protection.report(draft, tmp_path, draft.task | {"data": OWN}, None)
    assert "the examples themselves" in " ".join(own["disclosure"]["server"])
    masked = next(one for one in own["options"] if (one["part"], one["key"]) == ("updates", "masked"))
    with_masks = merged(draft.task | {"data": OWN}, masked["patch"])
    told = await protection.report(draft, tmp_path, with_masks, None)
    assert "the sum of at least 3 updates" in told["disclosure"]["server"][0]
    assert draft.task["data"]["source"] == "shards"
    both = with_masks | {"privacy": {"mechanism": "central", "clip": 1.0, "noise_multiplier": 1.0}}
    refused = await protection.report(draft, tmp_path, both, None)
    assert "cannot be combined with masked updates" in refused["problem"]
    assert refused["disclosure"] is None
    # What would be possible is said all the same.
    assert any(one["refused"] is None for one in refused["options"])


async def test_a_model_that_cannot_be_noised_is_said_before_the_launch(tmp_path: Path) -> None:
    draft = converted(tmp_path)
    told = await Protection().report(draft, tmp_path, None, None)
    noise = {one["key"]: one["refused"] for one in told["options"] if one["part"] == "noise"}
    assert noise["none"] is None
    assert "BatchNormalization" in noise["central"]
    draft.task["privacy"] = {"mechanism": "central", "clip": 1.0, "noise_multiplier": 1.0}
    made = products_of(draft, tmp_path)
    assert made is not None
    items = {one.key: one for one in checklist(draft, tmp_path, made.inspection())}
    assert items["task"].state == "failed"
    assert "BatchNormalization" in items["task"].text


async def test_noise_is_worth_what_the_accountant_says(tmp_path: Path) -> None:
    draft, protection = converted(tmp_path, stateless=True), Protection()
    draft.task["data"] = OWN
    draft.task["privacy"] = {"mechanism": "central", "clip": 1.0, "noise_multiplier": 4.0}
    told = await protection.report(draft, tmp_path, None, 2.0)
    guarantee = told["guarantee"]
    assert guarantee["taken"] == draft.task["coordination"]["rounds"] == 20
    assert told["curve"][-1] == (20, guarantee["epsilon"])
    assert "in 20 rounds" in guarantee["sentence"]
    # More than it has, for less than it comes to; and with it, it is enough.
    assert told["needed"] > 4.0
    draft.task["privacy"]["noise_multiplier"] = told["needed"]
    assert (await protection.report(draft, tmp_path, None, None))["guarantee"]["epsilon"] <= 2.0001
    draft.task["privacy"] = {"mechanism": "local", "clip": 1.0, "noise_multiplier": 30.0}
    short = await protection.report(draft, tmp_path, None, None)
    assert "Raise it to" in short["problem"]
    draft.task["privacy"] |= {"epsilon": 0.01}
    draft.task["security"] = {"max_update_norm": 1000.0}
    spent = await protection.report(draft, tmp_path, None, None)
    assert "one round would pass" in spent["problem"]


async def test_noise_in_rounded_shares_is_enough_for_the_epsilon_that_was_asked_for(tmp_path: Path) -> None:
    draft, protection = converted(tmp_path, stateless=True), Protection()
    draft.task["data"] = OWN
    draft.task["coordination"] |= {"min_available_clients": 3, "quorum": 3, "rounds": 3}
    draft.task["security"] = {"aggregation": ["masked"], "masking": {"min_clients": 3, "bits": 32}}
    draft.task["privacy"] = {"mechanism": "distributed", "clip": 1.0, "noise_multiplier": 1.0}
    told = await protection.report(draft, tmp_path, None, 4.0)
    assert told["needed"] is not None
    draft.task["privacy"]["noise_multiplier"] = told["needed"]
    guarantee = (await protection.report(draft, tmp_path, None, None))["guarantee"]
    assert 3.0 < guarantee["epsilon"] <= 4.0
