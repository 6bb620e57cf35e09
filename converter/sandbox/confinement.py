"""What keeps a conversion in its folder: no network, no other programs, no files but the ones it needs.

Each part works without root and is used where the kernel has it; process_limits.py works everywhere.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from converter.sandbox import landlock, seccomp

_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
# Libraries, and what TensorFlow asks of the machine: processors, memory, time zone.
_SYSTEM = (
    "/usr", "/lib", "/lib64", "/bin", "/opt", "/nix/store", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/alternatives", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/proc/cpuinfo",
    "/proc/meminfo", "/proc/stat", "/proc/self", "/proc/sys/kernel", "/proc/sys/vm",
    "/proc/filesystems", "/dev/urandom", "/dev/random", "/dev/zero",
)  # fmt: skip
_DEVICES = ("/dev/null",)


def confine(readable: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Shut this process in, for good; call before any thread is started.

    It may then read Python, the system's libraries and `readable`, and write only below `writable`. Returns
    sentences about what this kernel cannot forbid.
    """
    missing = []
    alone = _leave_network()  # first, for the other two forbid it
    try:
        shut = landlock.restrict([*_program(), *readable], [*writable, *map(Path, _DEVICES)])
    except OSError:
        shut = False
    if not shut:
        missing.append("this kernel has no Landlock, so that a conversion may read and write other files")
    if not seccomp.restrict():
        missing.append("this kernel has no seccomp filters, so that a conversion may start other programs")
        if not alone:
            missing.append("it has no user namespaces either, so that a conversion may use the network")
    return missing


def _program() -> list[Path]:
    """Where Python, the installed packages and this package lie."""
    places = {sys.prefix, sys.base_prefix, *_SYSTEM}
    # The folder on the path that holds this package is not itself open to reading: a model could lie there.
    here = Path(__file__).resolve().parents[1]
    places |= {place for place in sys.path if place and Path(place).resolve() != here.parent}
    return [here, *(Path(place) for place in sorted(places))]


def _leave_network() -> bool:
    """Move into a network namespace without any interface; true where that worked."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_NETWORK) == 0:
        return True
    if libc.unshare(_NEW_USER | _NEW_NETWORK) != 0:
        return False
    try:
        # Without a map every file would seem to belong to nobody, which disturbs but does no harm.
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        pass
    return True
