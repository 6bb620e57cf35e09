"""Describes one hosted task for pages and programs: summary, details, data, demands of its model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from backend.formats.task_file import TaskFile
from backend.protocols.tasks.task_life import RUNNING, UNDER_WAY, Life
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
    """The content of a task's page: its summary and further details."""

    summary: dict[str, Any]
    readme_html: str
    licence: dict[str, str | None]
    trial: Playground | None
    file: TaskFile


def summary(host: TaskHost, life: Life) -> dict[str, Any]:
    """Returns the summary of a task (docs/reference/http.md)."""
    task, file = host.task, host.task.file
    return {
        "name": file.name,
        "title": file.title,
        "summary": file.summary,
        "topics": file.topics,
        "scheme": file.coordination.scheme,
        "aggregation": file.security.aggregation,
        "newcomers": file.access.newcomers,
        "lan": file.coordination.decentralized and file.coordination.averages.lan,
        "bundle": task.bundle.address,
        "weights": host.history.current.weights,
        "version": host.history.current.version,
        "offered": host.history.checks.offered.version,
        "offered_weights": host.history.checks.offered.weights,
        "round": host.round,
        "rounds": file.coordination.rounds + host.history.repeats,
        "phase": host.phase,
        "state": life.state,
        "trouble": host.trouble,
        "participants": host.participants,
        "needs_clients": _needs_clients(host, life),
        "wanted": file.coordination.required_clients,
        "brings": file.data.brings,
        "accuracy": _accuracy(host.history.evaluations),
        "best": _best(host.history.best),
        "ended": life.since if host.phase == "finished" and life.state not in UNDER_WAY else None,
        "parameters": task.bundle.manifest.parameters.total,
        "examples": task.shards.examples,
        "privacy": host.privacy,
    }


def detail(task: Task, summary: dict[str, Any]) -> TaskDetail:
    """Returns the content of a task's page."""
    return TaskDetail(
        summary=summary,
        readme_html=task.readme_html,
        licence={"model": task.file.licence.model, "data": task.file.licence.data},
        trial=task.trial,
        file=task.file,
    )


def data(task: Task) -> dict[str, Any]:
    """Returns the description of a task's data (docs/reference/http.md)."""
    return {
        "source": task.file.data.source,
        "preprocess": msgspec.to_builtins(task.shards.preprocess),
        "volunteer": msgspec.to_builtins(task.file.data.own),
        "url": url_data_summary(task.file.data),
        "trial": msgspec.to_builtins(task.trial),
    }


def guarantee_of(host: TaskHost) -> Guarantee | None:
    """Returns the privacy guarantee to clients as of now; None without [privacy]."""
    privacy = host.privacy
    figures = ("sentence", "epsilon", "delta", "budget")
    return Guarantee(**{key: privacy[key] for key in figures}) if privacy else None


def inspection(task: Task, program: int | None) -> Inspection:
    """Returns the model's demands on a device; `program` is the size of the built web app in bytes."""
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


def _needs_clients(host: TaskHost, life: Life) -> bool:
    """Whether a further client could get work: the task runs, and its stores work."""
    return life.state in RUNNING and host.phase not in ("paused", "finished") and host.trouble is None


def _best(evaluation: EvaluationRecord | None) -> dict[str, Any] | None:
    if evaluation is None:
        return None
    return {"version": evaluation.version, "loss": evaluation.loss, "metrics": evaluation.metrics}


def _accuracy(evaluations: dict[int, EvaluationRecord]) -> float | None:
    return evaluations[max(evaluations)].metrics.get("accuracy") if evaluations else None
