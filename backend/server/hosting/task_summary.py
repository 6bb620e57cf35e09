"""What pages and programs are shown of one hosted task: its summary, its details, its data, its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from backend.formats.task_file import TaskFile
from backend.protocols.tasks.task_life import Life
from backend.server.disclosure.statement import Guarantee
from backend.server.estimates.traffic import traffic
from backend.server.hosting.task_host import TaskHost
from backend.server.mesh.averaging_plan import averages_of
from backend.server.tasks.model_inspection import Inspection, inspect
from backend.server.tasks.playground import Playground
from backend.server.tasks.task import Task
from backend.server.tasks.task_data import url_data_summary
from backend.stores.contracts import EvaluationRecord


@dataclass(frozen=True)
class TaskDetail:
    """What a task's page shows beside its summary."""

    summary: dict[str, Any]
    readme_html: str
    licence: dict[str, str | None]
    trial: Playground | None
    file: TaskFile


def summary(host: TaskHost, life: Life) -> dict[str, Any]:
    """Summary of a task (docs/reference/http.md)."""
    task, file = host.task, host.task.file
    return {
        "name": file.name,
        "title": file.title,
        "summary": file.summary,
        "topics": file.topics,
        "scheme": file.coordination.scheme,
        "bundle": task.bundle.address,
        "weights": host.history.current.weights,
        "version": host.history.current.version,
        "round": host.round,
        "rounds": file.coordination.rounds,
        "phase": host.phase,
        "state": life.state,
        "trouble": host.trouble,
        "participants": host.participants,
        "wanted": file.coordination.required_clients,
        "brings": file.data.brings,
        "accuracy": _accuracy(host.history.evaluations),
        "parameters": task.bundle.manifest.parameters.total,
        "examples": task.shards.examples,
        "privacy": host.privacy,
    }


def detail(task: Task, summary: dict[str, Any]) -> TaskDetail:
    """All a task's page shows at once."""
    return TaskDetail(
        summary=summary,
        readme_html=task.readme_html,
        licence={"model": task.file.licence.model, "data": task.file.licence.data},
        trial=task.trial,
        file=task.file,
    )


def data(task: Task) -> dict[str, Any]:
    """What a task's data are like (docs/reference/http.md)."""
    return {
        "source": task.file.data.source,
        "preprocess": msgspec.to_builtins(task.shards.preprocess),
        "volunteer": msgspec.to_builtins(task.file.data.own),
        "url": url_data_summary(task.file.data),
        "trial": msgspec.to_builtins(task.trial),
    }


def guarantee_of(host: TaskHost) -> Guarantee | None:
    """What the account of its clients' privacy says so far; None without one."""
    told = host.privacy
    figures = ("sentence", "epsilon", "delta", "budget")
    return Guarantee(**{key: told[key] for key in figures}) if told else None


def inspection(task: Task, program: int | None) -> Inspection:
    """What the task's model asks of a device; `program` are the bytes of the built web app."""
    manifest = task.bundle.manifest
    averages = averages_of(task.file, manifest.parameters.total)
    wire = traffic(
        manifest,
        task.bundle.manifest_bytes,
        task.shards.fetched,
        task.file.data.shards_per_client,
        program,
        averages,
    )
    return inspect(manifest, wire)


def _accuracy(evaluations: dict[int, EvaluationRecord]) -> float | None:
    return evaluations[max(evaluations)].metrics.get("accuracy") if evaluations else None
