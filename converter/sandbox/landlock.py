"""Restricts which files this process can read and write, permanently and without root, by Landlock.

Landlock needs Linux 5.13 or later. The numbers are the kernel's own, from linux/landlock.h.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_ALL = (1 << 13) - 1
# Later versions also control links into other folders, truncation and ioctl on devices.
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_TCP = 0b11
_SCOPE = 0b11  # abstract sockets and signals to processes outside
# What has a name but is no file: devices, sockets, named pipes, symbolic links.
_SPECIAL = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Returns Landlock's version in this kernel, 0 where there is none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def restrict(readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Limits reads to below `readable` and writes to below `writable`, and forbids TCP.

    Only files and folders can be made: no links, named pipes, sockets or devices. Call before threads are
    started; the restriction is permanent. Returns False where the kernel has no Landlock, or only its first
    version, which cannot move files between folders. Raises OSError where the kernel refuses.
    """
    abi = version()
    if abi < 2:
        return False
    handled = _ALL | _REFER | (_TRUNCATE if abi >= 3 else 0) | (_IOCTL if abi >= 5 else 0)
    ruleset = _Ruleset(handled, _TCP if abi >= 4 else 0, _SCOPE if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    descriptor = _checked(_libc.syscall(_CREATE_RULESET, ctypes.byref(ruleset), size, 0))
    try:
        for path in readable:
            _allow(descriptor, path, READ_FILE | READ_DIR | EXECUTE, handled)
        for path in writable:
            _allow(descriptor, path, handled & ~(EXECUTE | _SPECIAL), handled)
        _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _checked(_libc.syscall(_RESTRICT_SELF, descriptor, 0))
    finally:
        os.close(descriptor)
    return True


def _allow(ruleset: int, path: Path, rights: int, handled: int) -> None:
    try:
        path_descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a missing path needs no rule
    try:
        folder = stat.S_ISDIR(os.fstat(path_descriptor).st_mode)
        rule = _Beneath(rights & handled & (handled if folder else _ON_FILES), path_descriptor)
        _checked(_libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(path_descriptor)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
