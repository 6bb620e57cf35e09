"""Lists the system calls that work in the sandbox may make; the filter (seccomp.py) refuses every other one.

The list holds what Python, numpy, pyarrow, pandas, Pillow, h5py and TensorFlow need, with the calls that a
C library uses in their place. Left out is what outlasts the process or reaches another one: owners, modes,
times and attributes of files, links, named pipes and devices, System V and POSIX IPC, memory in unnamed files
and locked memory, the clock, other programs and processes, sockets, namespaces, mounts.
"""

from __future__ import annotations

from dataclasses import dataclass

# Numbers from the kernel's headers: on x86_64, and on aarch64, where None stands for a call that it lacks.
ALLOWED: dict[str, tuple[int, int | None]] = {
    # Files and folders that Landlock lets through.
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "preadv": (295, 69), "pwritev": (296, 70), "preadv2": (327, 286),
    "pwritev2": (328, 287), "open": (2, None), "openat": (257, 56), "close": (3, 57),
    "close_range": (436, 436), "lseek": (8, 62), "stat": (4, None), "fstat": (5, 80),
    "lstat": (6, None), "newfstatat": (262, 79), "statx": (332, 291), "statfs": (137, 43),
    "fstatfs": (138, 44), "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439),
    "readlink": (89, None), "readlinkat": (267, 78), "getdents": (78, None), "getdents64": (217, 61),
    "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50), "mkdir": (83, None),
    "mkdirat": (258, 34), "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "ftruncate": (77, 46),
    "fallocate": (285, 47), "fsync": (74, 82), "fdatasync": (75, 83), "fadvise64": (221, 223),
    "readahead": (187, 213), "sendfile": (40, 71), "copy_file_range": (326, 285), "flock": (73, 32),
    "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59),
    "ioctl": (16, 29), "fcntl": (72, 25),
    # Memory.
    "brk": (12, 214), "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226),
    "madvise": (28, 233), "msync": (26, 227), "mbind": (237, 235), "get_mempolicy": (239, 236),
    # Threads and signals of this process.
    "clone": (56, 220), "set_robust_list": (273, 99), "set_tid_address": (218, 96), "rseq": (334, 293),
    "futex": (202, 98), "futex_waitv": (449, 449), "membarrier": (324, 283), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126), "getcpu": (309, 168),
    "gettid": (186, 178), "getpid": (39, 172), "getppid": (110, 173), "kill": (62, 129),
    "tgkill": (234, 131), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132), "pause": (34, None),
    "restart_syscall": (219, 128), "arch_prctl": (158, None), "prctl": (157, 167), "exit": (60, 93),
    "exit_group": (231, 94),
    # Time and waiting.
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153),
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72),
    "epoll_create": (213, None), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, None), "epoll_pwait": (281, 22), "epoll_pwait2": (441, 441),
    "eventfd": (284, None), "eventfd2": (290, 19),
    # What the process is, and what it may use.
    "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177),
    "getresuid": (118, 148), "getresgid": (120, 150), "getgroups": (115, 158), "getpgid": (121, 155),
    "getpgrp": (111, None), "getsid": (124, 156), "getrlimit": (97, 163), "prlimit64": (302, 261),
    "getrusage": (98, 165), "uname": (63, 160), "sysinfo": (99, 179), "getrandom": (318, 278),
}  # fmt: skip

# Calls that the list may not know yet seem missing, so that a C library falls back to older ones; so does
# clone3, whose flags a filter cannot read.
CLONE3 = 435
FIRST_UNKNOWN = 451


@dataclass(frozen=True)
class Check:
    """A condition on 32 bits of a call's arguments: `word & mask` is one of `values`.

    Word 2n holds the lower bits of argument n, word 2n + 1 its upper bits.
    """

    word: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF


def checks(process: int) -> dict[str, tuple[Check, ...]]:
    """Returns the conditions of calls that are allowed for some arguments only, in the process of this id."""
    return {
        "clone": (Check(0, (_THREAD,), _THREAD | _NAMESPACES),),
        "kill": (Check(0, (process,)),),
        "tgkill": (Check(0, (process,)),),
        # Its own limits may be read; a third argument would set them.
        "prlimit64": (Check(0, (0, process)), Check(4, (0,)), Check(5, (0,))),
        "ioctl": (Check(2, _TERMINAL_AND_DESCRIPTOR),),
        "fcntl": (Check(2, _DESCRIPTORS_AND_LOCKS),),
        "prctl": (Check(0, _NAMES),),
        "open": (Check(2, _OPEN_MODES, _OPEN_MASK),),
        "openat": (Check(4, _OPEN_MODES, _OPEN_MASK),),
        "renameat2": (Check(8, _RENAMES),),
    }


_THREAD, _NAMESPACES = 0x10000, 0x7E020000
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
_TERMINAL_AND_DESCRIPTOR = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC.
_DESCRIPTORS_AND_LOCKS = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
# PR_SET_NAME, PR_GET_NAME, PR_SET_VMA: names of threads and of memory.
_NAMES = (15, 16, 0x53564D41)
# RENAME_NOREPLACE is allowed; RENAME_WHITEOUT would leave a device.
_RENAMES = (0, 1)
# O_TRUNC together with O_RDONLY empties a file that may only be read, which Landlock forbids from 6.2 on.
_OPEN_MASK, _OPEN_MODES = 0o1003, (0, 1, 2, 0o1001, 0o1002)
