"""Limits that the conversion puts on its own process before it opens anything a stranger made."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass

OPEN_FILES = 512


@dataclass(frozen=True)
class Limits:
    """CPU time in seconds, address space and largest written file in bytes, parameters in a model."""

    cpu_seconds: int = 900
    memory_bytes: int = 12 << 30
    file_bytes: int = 2 << 30
    parameters: int = 50_000_000


def apply_limits(limits: Limits) -> None:
    """Lower this process's resource limits for good: the kernel enforces them, nothing here can lift them."""
    for kind, wanted in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))


def quiet_tensorflow() -> None:
    """Environment that TensorFlow reads at import: no GPU, no log chatter, plain kernels, our Keras backend.

    oneDNN's own fused kernels would differ between machines; a bundle must not depend on who converted it.
    """
    os.environ.update(
        CUDA_VISIBLE_DEVICES="-1",
        JOBLIB_MULTIPROCESSING="0",
        KERAS_BACKEND="tensorflow",
        TF_CPP_MIN_LOG_LEVEL="3",
        TF_ENABLE_ONEDNN_OPTS="0",
    )
