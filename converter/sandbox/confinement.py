"""Confines a conversion to its folder: no network, no other programs, no files it does not need.

Each mechanism works without root and is used where the kernel has it; process_limits.py works everywhere.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from converter.sandbox import landlock, seccomp
from converter.sandbox.process_limits import limit_threads

_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
# Libraries, and what TensorFlow reads about the machine: processors, memory, time zone.
_SYSTEM = (
    "/usr", "/lib", "/lib64", "/bin", "/opt", "/nix/store", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/alternatives", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/proc/cpuinfo",
    "/proc/meminfo", "/proc/stat", "/proc/self", "/proc/sys/kernel", "/proc/sys/vm",
    "/proc/filesystems", "/dev/urandom", "/dev/random", "/dev/zero",
)  # fmt: skip
_DEVICES = ("/dev/null",)


def confine(readable: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Confines this process permanently; call before any thread is started.

    It may then read Python, the system's libraries and `readable`, and write only below `writable`. Returns
    sentences about what this kernel cannot forbid.
    """
    missing = []
    isolated = _leave_network()  # first, since the other two forbid it
    try:
        restricted = landlock.restrict([*_program(), *readable], [*writable, *map(Path, _DEVICES)])
    except OSError:
        restricted = False
    if not restricted:
        missing.append("this kernel has no Landlock, so that a conversion may read and write other files")
    if not seccomp.restrict():
        missing.append("this kernel has no seccomp filters, so that a conversion may start other programs")
        if not isolated:
            missing.append("it has no user namespaces either, so that a conversion may use the network")
    return missing


def _program() -> list[Path]:
    """Returns the paths of Python, the installed packages and this package."""
    paths = {sys.prefix, sys.base_prefix, *_SYSTEM}
    # The parent folder of this package stays unreadable: it could hold a model.
    package = Path(__file__).resolve().parents[1]
    paths |= {path for path in sys.path if path and Path(path).resolve() != package.parent}
    return [package, *(Path(path) for path in sorted(paths))]


def _leave_network() -> bool:
    """Moves into a network namespace without interfaces; returns whether that worked.

    Where it takes a user namespace, too, which root does not need, that bounds the process' threads.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_NETWORK) == 0:
        return True
    if libc.unshare(_NEW_USER | _NEW_NETWORK) != 0:
        return False
    try:
        # Without a map every file would seem to belong to nobody, which is harmless.
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        pass
    limit_threads()
    return True
