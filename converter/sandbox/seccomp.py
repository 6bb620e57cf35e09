"""Installs a seccomp filter that refuses system calls which reach out of a conversion.

Refused are sockets of every kind, other programs and processes, mounts, namespaces and kernel interfaces. It
works without root.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

_SET_SECCOMP, _FILTER, _NO_NEW_PRIVILEGES = 22, 2, 38
_LOAD, _EQUAL, _GREATER_EQUAL, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_CLONE_THREAD = 0x10000
_X32 = 0x40000000

# Audit architecture and call numbers, from the kernel's headers for each machine.
_MACHINES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (0xC000003E, {
        "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "bind": 49, "listen": 50,
        "socketpair": 53, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "kill": 62,
        "ptrace": 101, "syslog": 103, "personality": 135, "pivot_root": 155, "chroot": 161,
        "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169, "init_module": 175,
        "tkill": 200, "tgkill": 234, "add_key": 248, "request_key": 249, "keyctl": 250,
        "unshare": 272, "accept4": 288, "perf_event_open": 298, "rt_tgsigqueueinfo": 297,
        "fanotify_init": 300, "prlimit64": 302, "open_by_handle_at": 304, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "finit_module": 313, "bpf": 321,
        "execveat": 322, "userfaultfd": 323, "pidfd_send_signal": 424, "io_uring_setup": 425,
        "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
        "fsopen": 430, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438, "mount_setattr": 442,
        "rt_sigqueueinfo": 129, "setpriority": 141, "sched_setscheduler": 144, "quotactl": 179,
        "kexec_load": 246,
    }),
    "aarch64": (0xC00000B7, {
        "socket": 198, "connect": 203, "accept": 202, "sendto": 206, "bind": 200, "listen": 201,
        "socketpair": 199, "clone": 220, "execve": 221, "kill": 129, "ptrace": 117, "syslog": 116,
        "personality": 92, "pivot_root": 41, "chroot": 51, "mount": 40, "umount2": 39,
        "swapon": 224, "reboot": 142, "init_module": 105, "tkill": 130, "tgkill": 131,
        "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97, "accept4": 242,
        "perf_event_open": 241, "rt_tgsigqueueinfo": 240, "fanotify_init": 262, "prlimit64": 261,
        "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271,
        "finit_module": 273, "bpf": 280, "execveat": 281, "userfaultfd": 282,
        "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
        "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
        "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438, "mount_setattr": 442,
        "rt_sigqueueinfo": 138, "setpriority": 140, "sched_setscheduler": 119, "quotactl": 60,
        "kexec_load": 104,
    }),
}  # fmt: skip
# Allowed on this process only: TensorFlow aborts by a signal to itself and reads its own limits.
_ON_SELF = ("kill", "tgkill", "prlimit64")


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


def _compile(architecture: int, numbers: dict[str, int]) -> bytes:
    """Compiles the filter to classic BPF: eight bytes an instruction, jumps relative to the next one."""
    numbers = dict(numbers)
    refuse = _op(_RETURN, _REFUSE | errno.EPERM)
    code = [_op(_LOAD, _ARCHITECTURE), _op(_EQUAL, architecture, 1, 0), _op(_RETURN, _KILL)]
    code += [_op(_LOAD, _NUMBER)]
    if platform.machine() == "x86_64":
        code += [_op(_GREATER_EQUAL, _X32, 0, 1), refuse]
    # A C library to which clone3 seems missing uses clone, whose flags the filter can check.
    code += [_op(_EQUAL, numbers.pop("clone3"), 0, 1), _op(_RETURN, _REFUSE | errno.ENOSYS)]
    clone = numbers.pop("clone")
    code += [_op(_EQUAL, clone, 0, 5), _op(_LOAD, _FIRST), _op(_AND, _CLONE_THREAD)]
    code += [_op(_EQUAL, 0, 1, 0), _op(_RETURN, _ALLOW), refuse]
    process = os.getpid()
    for name in _ON_SELF:
        zero = 0 if name == "prlimit64" else process
        code += [_op(_EQUAL, numbers.pop(name), 0, 5), _op(_LOAD, _FIRST)]
        code += [_op(_EQUAL, process, 2, 0), _op(_EQUAL, zero, 1, 0), refuse, _op(_RETURN, _ALLOW)]
    for number in numbers.values():
        code += [_op(_EQUAL, number, 0, 1), refuse]
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)
