"""The wizard's step `plan` in a real browser: rounds or work units, what fits the model, what it costs."""

from __future__ import annotations

import time
import tomllib
from typing import Any

import pytest
from playwright.async_api import Page, expect

from backend.formats.task_file import parse_task
from tests.support.browser.axe import findings
from tests.support.timeouts import PATIENCE
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server
from tests.support.web.visitors import Visitor
from tests.support.web.visitors import program as program_of

UNITS = "In work units, each on their own"


def renewed(ann: Visitor, name: str) -> str:
    """A draft with the digits' model and shards."""
    return str(ann.ask("POST", "/api/tasks/digits/clone", {"name": name})["id"])


def tables(ann: Visitor, draft: str) -> dict[str, Any]:
    """Its task.toml, as it is downloaded."""
    return tomllib.loads(ann.ask("GET", f"/api/drafts/{draft}/task.toml"))


async def opened(page: Page, server: Server, draft: str) -> None:
    await page.goto(f"{server.url}/drafts/{draft}/plan")
    await expect(page.locator("[data-costs] dd").first).not_to_be_empty()


async def saved(page: Page) -> None:
    await expect(page.locator("[data-saved]")).to_contain_text("Saved")


def rested(ann: Visitor, draft: str) -> None:
    """Until no work is being done on it: until then it is not copied."""
    deadline = time.monotonic() + PATIENCE
    while any(
        job["state"] in ("waiting", "running") and kind != "forecast"
        for kind, job in ann.ask("GET", f"/api/drafts/{draft}")["jobs"].items()
    ):
        assert time.monotonic() < deadline
        time.sleep(0.2)


async def test_who_chooses_work_units_gets_values_that_fit_and_costs_of_units(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = renewed(ann, "units")
    await opened(page, server, draft)
    await page.get_by_label(UNITS).check()
    await expect(page.get_by_text("Work units in an epoch")).to_be_visible()
    await expect(page.get_by_text("These values were worked out")).to_be_visible()
    await expect(page.get_by_label("Participants needed to start a round", exact=True)).to_be_hidden()
    # 102 digits a shard in batches of 32: four steps, five visits.
    await expect(page.get_by_label("Passes over its examples", exact=True)).to_have_value("5")
    await expect(page.get_by_label("Epochs: passes over all units", exact=True)).to_have_value("10")
    await expect(page.get_by_text("is 4 steps: a unit is a whole one")).to_be_visible()
    await expect(page.get_by_text("the model keeps e/(e+1) of itself")).to_be_visible()
    await expect(page.get_by_role("columnheader", name="Gets")).to_be_visible()
    assert await findings(page) == []
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
    await saved(page)
    said = tables(ann, draft)["coordination"]
    assert said == {
        "scheme": "volunteer",
        "units": {
            "epochs": 10,
            "lease": 120,
            "assimilation": {"name": "vc-asgd"},
            "trust": {"replicas": 2},
        },
    }


async def test_every_field_of_work_units_is_written_into_the_task_file_and_read_from_it(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = renewed(ann, "fields")
    await opened(page, server, draft)
    await page.get_by_label(UNITS).check()
    # Typed before the server has answered with its proposals.
    await page.get_by_text("Advanced: sizes, trust, stopping early").click()
    typed = {
        "rows": "64",
        "epochs": "12",
        "lease": "300",
        "seconds": "90",
        "bound": "4",
        "evaluate_every": "5",
        "assimilation.alpha": "0.9",
        "assimilation.warm_start": "2",
        "trust.replicas": "3",
        "trust.checked": "6",
        "trust.spot_checks": "0.1",
        "trust.quota": "50",
        "trust.tolerance": "0.05",
        "trust.trusted": "0123456789abcdef fedcba9876543210",
    }
    for key, text in typed.items():
        await page.locator(f'[data-key="coordination.units.{key}"]').fill(text)
    await page.get_by_label("Compare only devices that compute in the same way").check()
    await saved(page)
    file = parse_task(tables(ann, draft), "task.toml")
    units = file.coordination.units
    assert units is not None
    assert (units.rows, units.epochs, units.lease, units.seconds, units.bound) == (64, 12, 300, 90, 4)
    assert (units.evaluate_every, units.assimilation.warm_start) == (5, 2)
    assert getattr(units.assimilation, "alpha", None) == 0.9
    trust = units.trust
    assert (trust.replicas, trust.checked, trust.spot_checks, trust.quota) == (3, 6, 0.1, 50)
    assert (trust.tolerance, trust.homogeneous) == (0.05, True)
    assert trust.trusted == ["0123456789abcdef", "fedcba9876543210"]
    await page.reload()
    for key, text in typed.items():
        shown = text.replace(" ", ", ") if key.endswith("trusted") else text
        await expect(page.locator(f'[data-key="coordination.units.{key}"]')).to_have_value(shown)
    # Another way to blend has settings of its own.
    await page.get_by_label("How a result is blended into the model").select_option("fedbuff")
    await expect(page.get_by_label("Alpha", exact=True)).to_be_hidden()
    await expect(page.get_by_text("the model keeps e/(e+1) of itself")).to_have_count(0)
    await page.get_by_label("Results merged at a time", exact=True).fill("4")
    await saved(page)
    said = tables(ann, draft)["coordination"]["units"]["assimilation"]
    assert said == {"name": "fedbuff", "buffer": 4}


@pytest.mark.long
async def test_copies_and_comparisons_keep_work_units_and_rounds_are_a_click_away(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = renewed(ann, "there")
    await opened(page, server, draft)
    await page.get_by_label(UNITS).check()
    await expect(page.get_by_text("These values were worked out")).to_be_visible()
    await saved(page)
    said = tables(ann, draft)["coordination"]
    rested(ann, draft)
    copy = ann.ask("POST", f"/api/drafts/{draft}/clone", {"name": "copied"})["id"]
    assert tables(ann, copy)["coordination"] == said
    program = Drafter(program_of(ann, "create"))
    text = ann.ask("GET", f"/api/drafts/{draft}/task.toml").encode()
    brought = program.send("PUT", "/api/drafts/import", text, Content_Type="application/toml")
    assert tables(ann, brought.json["id"])["coordination"] == said
    await opened(page, server, copy)
    await page.locator('[data-key="coordination.units.epochs"]').fill("30")
    await saved(page)
    found = ann.ask("GET", f"/api/differences?before=draft:{draft}&after=draft:{copy}")["changes"]
    assert {"coordination.units.epochs rises from 10 to 30."} <= {one["text"] for one in found}
    await page.get_by_label("In rounds, with the server").check()
    await expect(page.get_by_label("Seconds a round may last", exact=True)).to_be_visible()
    await expect(page.get_by_text("A participant trains in a round on")).to_be_visible()
    await saved(page)
    back = tables(ann, copy)["coordination"]
    assert (back["scheme"], "units" in back) == ("federated", False)


async def test_volunteers_with_data_of_their_own_have_rounds(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = renewed(ann, "own")
    own = {"source": "volunteer", "preprocess": {"kind": "array"}}
    ann.ask("PATCH", f"/api/drafts/{draft}", {"task": {"data": own}})
    await page.goto(f"{server.url}/drafts/{draft}/plan")
    await expect(page.get_by_label(UNITS)).to_be_disabled()
    await expect(page.get_by_text("Needs data that you upload")).to_be_visible()


async def test_the_step_before_says_how_far_the_bundle_lies_from_keras(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = renewed(ann, "compared")
    worst = ann.ask("GET", f"/api/drafts/{draft}")["model"]["checked"]["worst"]
    await page.goto(f"{server.url}/drafts/{draft}/model")
    digit, exponent = f"{worst:.0e}".split("e")
    await expect(page.locator("[data-model-comparison]")).to_contain_text(
        f"steps differ by {digit}e{int(exponent)} at most"
    )


@pytest.mark.long
async def test_a_draft_with_objectives_has_no_single_loss_to_choose(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = renewed(ann, "objectives")
    await opened(page, server, draft)
    await page.get_by_text("How the model learns").click()
    await expect(page.locator("[data-loss]")).to_be_visible()
    rested(ann, draft)
    objective = {"losses": [{"output": "digit", "name": "sparse_categorical_crossentropy"}]}
    ann.ask("PATCH", f"/api/drafts/{draft}", {"task": {"model": {"loss": None, "objectives": [objective]}}})
    # The model is to be converted again, so that there are no costs yet.
    await page.goto(f"{server.url}/drafts/{draft}/plan")
    await page.get_by_text("How the model learns").click()
    await expect(page.get_by_text("are set as objectives in task.toml")).to_be_visible()
    await expect(page.locator("[data-loss]")).to_be_hidden()


async def test_what_the_same_bits_cost_is_said_before_they_are_required(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = renewed(ann, "exact")
    await opened(page, server, draft)
    await expect(page.locator("[data-costs]")).to_be_visible()
    await page.get_by_text("Advanced: selection, averaging, stopping early").click()
    choice = page.get_by_label("The same bits from every device")
    await choice.select_option("required")
    await expect(page.locator("[data-notes]")).to_contain_text(
        "All compute on their processors: a round takes"
    )
    await saved(page)
    assert tables(ann, draft)["training"]["exact"] == "required"
    assert await findings(page) == []
    await choice.select_option("preferred")
    await expect(page.locator("[data-unsound]")).to_contain_text('Take "required", or leave it out.')
    await choice.select_option("")
    await expect(page.locator("[data-unsound]")).to_be_empty()
    await saved(page)
    assert "exact" not in tables(ann, draft)["training"]
