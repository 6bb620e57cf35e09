"""Chooses the starter model of a draft, and offers those that fit its data."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct, to_builtins

from backend.errors import NotFoundError, NotWantedError
from backend.server.drafts import task_tables
from backend.server.drafts.draft_store import Drafts, settle
from backend.server.drafts.record import Draft
from backend.server.drafts.starters.starters import NAMES, STARTERS, data_of
from backend.stores.error_translation import translated
from backend.translation import gettext

_OPTIMIZER = {"name": "adam", "learning_rate": 0.001}


class OfferedStarter(Struct, frozen=True):
    """A starter that fits the draft's data as far as they are known; `parameters` once it was built."""

    name: str
    title: str
    text: str
    chosen: bool
    parameters: int | None


def known_data(draft: Draft) -> str | None:
    """Returns the kind of the draft's data as starters know it; None if it is not known yet."""
    preprocess = preprocess_of(draft)
    kind = preprocess.get("kind")
    if kind not in ("image", "audio", "table", "text", "array"):
        return None
    return data_of(kind, _array_shape(draft, preprocess)) if kind != "array" or _looked(draft) else None


def offered(draft: Draft) -> list[dict[str, Any]]:
    """Returns the starters for the draft's data, or all while the data are not known."""
    data, built = known_data(draft), draft.jobs.get("build")
    result = built.result if built is not None else None
    return [
        to_builtins(
            OfferedStarter(
                name,
                gettext(starter.title),
                gettext(starter.words),
                name == draft.starter,
                result["parameters"] if result is not None and result["starter"] == name else None,
            )
        )
        for name, starter in STARTERS.items()
        if name == draft.starter or data in (None, starter.data)
    ]


async def choose(drafts: Drafts, draft: Draft, name: str) -> None:
    """Begins the draft with the starter `name`, instead of a model that it has.

    Raises NotFoundError for an unknown one, NotWantedError for one that does not fit the data.
    """
    if name not in STARTERS:
        raise NotFoundError(f"There is no such starter model; there are {', '.join(STARTERS)}.")
    check_fits(name, known_data(draft))
    built = draft.jobs.get("build")
    if name == draft.starter and ("model" in draft.files or (built is not None and built.live)):
        if built is not None and built.result is not None and "loss" not in draft.task["model"]:
            # The owner wrote another task file meanwhile.
            draft.task = with_answer(draft.task, built.result["loss"], built.result["metrics"])
            await drafts.save(draft)
        return
    if built is not None and not built.live:
        # Its model is removed, or was replaced before.
        del draft.jobs["build"]
    draft.starter = name
    draft.files.pop("model", None)
    draft.uploads.pop("model", None)
    batch_size = draft.task.get("model", {}).get("batch_size", 32)
    draft.task = task_tables.fixed({**draft.task, "model": {"batch_size": batch_size}})
    await drafts.save(draft)
    with translated("The earlier model cannot be removed"):
        await asyncio.to_thread(settle, drafts.folder(draft), draft)


def check_fits(name: str, data: str | None) -> None:
    """Raises NotWantedError unless the starter is for such data; None, which are unknown, fit all."""
    starter = STARTERS[name]
    if data is not None and starter.data != data:
        fitting = ", ".join(other for other, one in STARTERS.items() if one.data == data)
        remedy = f"choose one of {fitting}" if fitting else "upload a model of your own"
        raise NotWantedError(
            f"This starter model is for {NAMES[starter.data]}, and the data are {NAMES[data]}; {remedy}."
        )


def with_answer(tables: dict[str, Any], loss: str, metrics: list[str]) -> dict[str, Any]:
    """Returns `tables` with the loss and metrics of the starter, and an optimizer if the owner set none."""
    model = {"optimizer": dict(_OPTIMIZER), **tables.get("model", {}), "loss": loss, "metrics": metrics}
    return task_tables.fixed({**tables, "model": model})


def preprocess_of(draft: Draft) -> dict[str, Any]:
    """Returns [data.preprocess]; empty if it is missing or no table."""
    data = draft.task.get("data")
    preprocess = data.get("preprocess") if isinstance(data, dict) else None
    return preprocess if isinstance(preprocess, dict) else {}


def _looked(draft: Draft) -> bool:
    job = draft.jobs.get("look")
    return job is not None and job.state == "done" and job.result is not None


def _array_shape(draft: Draft, preprocess: dict[str, Any]) -> list[int] | None:
    """Returns the shape of one example of the first input array, as the inspection found it."""
    if not _looked(draft):
        return None
    inputs = preprocess.get("x", ["x"])
    found = (draft.jobs["look"].result or {}).get("arrays", [])
    shapes = {array["name"]: list(array["shape"]) for array in found}
    shape = shapes.get(inputs[0]) if isinstance(inputs, list) and inputs else None
    return None if shape is None else shape[1:]
