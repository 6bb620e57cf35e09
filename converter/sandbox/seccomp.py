"""Installs a seccomp filter that allows the system calls of system_calls.py and refuses every other one.

It works without root.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

from converter.sandbox.system_calls import ALLOWED, CLONE3, FIRST_UNKNOWN, Check, checks

_SET_SECCOMP, _FILTER, _NO_NEW_PRIVILEGES = 22, 2, 38
_LOAD, _EQUAL, _GREATER_EQUAL, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
# Audit architecture, and which of the two numbers of ALLOWED holds.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def restrict() -> bool:
    """Installs the filter on this process and its later threads, permanently.

    Returns False where this machine or kernel does not support it.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    code = _compile(*machine)
    program = _Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


def _compile(architecture: int, column: int) -> bytes:
    """Compiles the filter to classic BPF: eight bytes an instruction, jumps relative to the next one."""
    refuse, unknown = _op(_RETURN, _REFUSE | errno.EPERM), _op(_RETURN, _REFUSE | errno.ENOSYS)
    code = [_op(_LOAD, _ARCHITECTURE), _op(_EQUAL, architecture, 1, 0), _op(_RETURN, _KILL)]
    code += [_op(_LOAD, _NUMBER)]
    if platform.machine() == "x86_64":
        code += [_op(_GREATER_EQUAL, _X32, 0, 1), refuse]
    code += [_op(_GREATER_EQUAL, FIRST_UNKNOWN, 0, 1), unknown, _op(_EQUAL, CLONE3, 0, 1), unknown]
    conditions = checks(os.getpid())
    for name, numbers in ALLOWED.items():
        if (number := numbers[column]) is not None:
            block = [op for check in conditions.get(name, ()) for op in _checked(check, refuse)]
            code += [_op(_EQUAL, number, 0, len(block) + 1), *block, _op(_RETURN, _ALLOW)]
    return b"".join([*code, refuse])


def _checked(check: Check, refuse: bytes) -> list[bytes]:
    """Returns instructions that continue if the check holds, and refuse the call if not."""
    code = [_op(_LOAD, _ARGUMENTS + 4 * check.word), _op(_AND, check.mask)]
    last = len(check.values)
    return [*code, *(_op(_EQUAL, value, last - n, 0) for n, value in enumerate(check.values)), refuse]


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)
