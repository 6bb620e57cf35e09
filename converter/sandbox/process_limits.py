"""Limits the conversion's own process before it opens untrusted files."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from dataclasses import dataclass

OPEN_FILES = 512
# TensorFlow has some pools of a thread for each processor; the libraries for arrays and tables have theirs.
_THREADS, _THREADS_PER_PROCESSOR = 256, 16
# Since 5.17 Linux counts the threads of a user for each user namespace, without those outside of it.
_COUNTS_BY_NAMESPACE = (5, 17)
_END_WITH_PARENT = 1


@dataclass(frozen=True)
class Limits:
    """CPU time in seconds, address space and largest written file in bytes, parameters in a model."""

    cpu_seconds: int = 900
    memory_bytes: int = 12 << 30
    file_bytes: int = 2 << 30
    parameters: int = 50_000_000


def apply_limits(limits: Limits) -> None:
    """Lowers this process's resource limits permanently; the kernel enforces them."""
    for kind, limit in (
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (value, value))


def limit_threads() -> None:
    """Limits the threads of this process, which must be alone in its user namespace, if the kernel can.

    Elsewhere the limit would count all that the user runs, also in other containers, and refuse honest ones.
    """
    major, minor = os.uname().release.split(".")[:2]
    if major.isdecimal() and minor.isdecimal() and (int(major), int(minor)) >= _COUNTS_BY_NAMESPACE:
        limit = _THREADS + _THREADS_PER_PROCESSOR * (os.cpu_count() or 1)
        _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (value, value))


def end_with_parent() -> None:
    """Has this process killed when the thread that started it ends, so a killed server leaves none.

    Linux only (prctl(2), PR_SET_PDEATHSIG); on other systems the limit on CPU time ends the process.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_END_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def quiet_tensorflow() -> None:
    """Sets TensorFlow's environment before its import: no GPU, no logs, plain kernels.

    It also selects TensorFlow as Keras' backend. oneDNN's own fused kernels would differ between machines; a
    bundle must not depend on where it was converted.
    """
    os.environ.update(
        CUDA_VISIBLE_DEVICES="-1",
        JOBLIB_MULTIPROCESSING="0",
        KERAS_BACKEND="tensorflow",
        TF_CPP_MIN_LOG_LEVEL="3",
        TF_ENABLE_ONEDNN_OPTS="0",
    )
