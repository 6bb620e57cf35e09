"""The peak of a process's memory."""

from __future__ import annotations

from pathlib import Path


def peak_mib() -> float:
    """Returns the most memory that this process has had resident, in MiB.

    `getrusage` counts that of the process which started this one, too.
    """
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    [kib] = [line.split()[1] for line in status if line.startswith("VmHWM:")]
    return int(kib) / 1024
