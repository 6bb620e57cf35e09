"""Tries, from inside the sandbox, to change what is outside; run as code that a parser's bug lets in.

Usage: `MODULE READABLE FOLDER`: a file that the job may only read, and the folder that it may write into. The
answer's message is JSON: what was tried, with the name of its error, or "done".
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_CREATE = 0o1600
_SET_FLAGS, _NO_DUMP = 0x40086602, 0x40
_DEATH_SIGNAL = 1
_WHITEOUT = 4


def main() -> None:
    """Tries everything and writes the answer."""
    readable, folder = Path(sys.argv[1]), Path(sys.argv[2])
    tried = {name: _attempt(action) for name, action in _attacks(readable, folder).items()}
    sys.stdout.write(json.dumps({"ok": True, "message": json.dumps(tried)}) + "\n")


def _attacks(readable: Path, folder: Path) -> dict[str, Callable[[], object]]:
    return _on_files(readable, folder) | _on_the_machine() | _on_processes() | _on_memory()


def _on_files(readable: Path, folder: Path) -> dict[str, Callable[[], object]]:
    inside = folder / "inside"
    inside.write_text("x")
    return {
        "chmod": lambda: readable.chmod(0o666),
        "fchmod": lambda: _with_file(readable, lambda file: os.fchmod(file, 0o666)),
        "chown": lambda: os.chown(readable, os.getuid(), os.getgid()),
        "lchown": lambda: os.lchown(readable, os.getuid(), os.getgid()),
        "utime": lambda: os.utime(readable, (1, 1)),
        "futimens": lambda: _with_file(readable, lambda file: os.utime(file, (1, 1))),
        "setxattr": lambda: os.setxattr(readable, "user.left", b"here"),
        "removexattr": lambda: os.removexattr(readable, "user.kept"),
        "set the file's flags": lambda: _with_file(
            readable, lambda file: fcntl.ioctl(file, _SET_FLAGS, ctypes.c_long(_NO_DUMP))
        ),
        "lease a file": lambda: _with_file(
            readable, lambda file: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        ),
        "mknod": lambda: os.mkfifo(folder / "fifo"),
        "symlink": lambda: (folder / "symlink").symlink_to("/etc/passwd"),
        "leave a device": lambda: _call(
            "renameat2", -100, bytes(inside), -100, bytes(folder / "moved"), _WHITEOUT
        ),
        "link": lambda: (folder / "link").hardlink_to(inside),
        "watch a folder": lambda: _call("inotify_init1", 0),
    }


def _on_the_machine() -> dict[str, Callable[[], object]]:
    no_change = (ctypes.c_long * 64)()
    return {
        "shmget": lambda: _call("shmget", 4711, 4096, _CREATE),
        "semget": lambda: _call("semget", 4711, 1, _CREATE),
        "msgget": lambda: _call("msgget", 4711, _CREATE),
        "mq_open": lambda: _call("mq_open", b"/minga-left", os.O_CREAT | os.O_RDWR, 0o600, None),
        "adjust the clock": lambda: _call("adjtimex", ctypes.byref(no_change)),
        "name the machine": lambda: _call("sethostname", b"x", -1),
        "flush all disks": lambda: _call("syncfs", 1),
    }


def _on_processes() -> dict[str, Callable[[], object]]:
    parent = os.getppid()
    same_limit = (ctypes.c_ulong * 2)(*resource.getrlimit(resource.RLIMIT_NOFILE))
    return {
        "pin the server to a processor": lambda: os.sched_setaffinity(
            parent, {min(os.sched_getaffinity(parent))}
        ),
        "the server's disk priority": lambda: _call("syscall", _number("ioprio_set"), 1, parent, 0x4000),
        "outlive the server": lambda: _call("prctl", _DEATH_SIGNAL, 0, 0, 0, 0),
        "leave the session": os.setsid,
        "set a limit": lambda: _call("setrlimit", resource.RLIMIT_NOFILE, ctypes.byref(same_limit)),
        "have a signal sent": lambda: _with_file(
            Path(sys.argv[1]), lambda file: fcntl.fcntl(file, fcntl.F_SETOWN, parent)
        ),
    }


def _on_memory() -> dict[str, Callable[[], object]]:
    return {
        "memory that no limit counts": lambda: os.memfd_create("uncounted"),
        "memory that cannot be swapped": lambda: _call("mlockall", 1),
    }


def _number(name: str) -> int:
    return {"x86_64": {"ioprio_set": 251}, "aarch64": {"ioprio_set": 30}}[os.uname().machine][name]


def _with_file(path: Path, act: Callable[[int], object]) -> object:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return act(descriptor)
    finally:
        os.close(descriptor)


def _call(name: str, *arguments: object) -> int:
    result = int(getattr(_libc, name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _attempt(action: Callable[[], object]) -> str:
    try:
        action()
    except OSError as error:
        return type(error).__name__ if error.errno is None else os.strerror(error.errno)
    return "done"


if __name__ == "__main__":
    main()
