"""Decides which of a server's tasks this peer can take part in without its person's choice of one."""

from __future__ import annotations

from pathlib import Path

from backend.peer.session.join import JoinOptions
from backend.peer.session.server_address import Choice, ModelNeeds

# The device of the first NVIDIA GPU on Linux.
_FIRST_GPU = Path("/dev/nvidia0")


def has_gpu() -> bool:
    """Whether this machine has an NVIDIA GPU; TensorFlow takes seconds to answer that."""
    return _FIRST_GPU.exists()


def task_obstacle(task: Choice, options: JoinOptions) -> str | None:
    """Returns why this peer does not take part in `task`, as the end of a sentence; None if it may.

    A task of volunteers' own data is never joined unasked: what is sent says something about them.
    """
    if task.scheme == "decentralized":
        return "its peers hold its weights, and one that comes and goes is of no use; name it with --task"
    if task.brings is not None:
        return "it learns from volunteers' own data; name it with --task"
    masks = task.scheme != "volunteer" and "masked" in task.aggregation
    if (options.min_masked or options.roster is not None) and not masks:
        return "it masks no updates"
    if options.min_noise and task.scheme == "volunteer":
        return "its clients add no noise"
    return None


def model_obstacle(model: ModelNeeds, options: JoinOptions, memory: int, gpu: bool) -> str | None:
    """Returns why this machine cannot train the model, as the end of a sentence; None if it can.

    `memory` is the number of bytes that a step may take here.
    """
    if options.exact:
        if model.program is None:
            return "no exact program computes its model"
    elif not _names(options, gpu) & {one.backend for one in model.backends if one.eligible != "nowhere"}:
        return "this machine has no device that can train its model"
    if model.memory.peak > memory:
        taken, given = (f"{count / 1e9:.2g} GB" for count in (model.memory.peak, memory))
        return f"a step of its model takes {taken} of memory, and a peer here may take {given}"
    return None


def _names(options: JoinOptions, gpu: bool) -> set[str]:
    """Returns the backends that this peer may use."""
    if options.device == "cuda":
        return {"tensorflow-cuda"}
    return {"tensorflow-cpu"} | ({"tensorflow-cuda"} if options.device == "auto" and gpu else set())
