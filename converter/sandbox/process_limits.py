"""Limits that the conversion puts on its own process before it opens anything a stranger made."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass

OPEN_FILES = 512
_END_WITH_PARENT = 1


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


def end_with_parent() -> None:
    """Have this process killed when the thread that began it is gone: a killed server leaves nothing behind.

    Linux only (prctl(2), PR_SET_PDEATHSIG); elsewhere the limit on CPU time ends it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_END_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


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
