"""A file takes its sandboxed process over, which leaves a pipe, link, device or vast file as its result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.datasets.inspection.model_input import ModelInput
from backend.errors import BundleError, CancelledError, MingaError
from backend.numerics.preprocess.declared import DeclaredArrays
from backend.server.sandbox.conversion import Proposed, convert
from backend.server.sandbox.data_inspection import cut_data, inspect_data, preview_data, unpack_draft
from backend.server.sandbox.dry_run import dry_run
from backend.server.sandbox.limited_process import ProcessLimits, Supervision
from tests.support.attacks.taken_over import taken_over

SECONDS = 15.0
INSIDE = "the server's secret"
FOUND = '{"kind": "image", "examples": 1}'
REPORT = '{"difference": 0, "loss": 1, "loss_after": 1, "step_loss": 1, "gradient_norm": 1, "step_ms": 1}'

# Programs that leave something at `path`.
KINDS = {
    "pipe": "os.mkfifo(path)",
    "link": "os.symlink('../../secret', path)",
    "folder": "path.mkdir()",
    "device": "os.symlink('/dev/zero', path)",
    "socket": "import socket; os.chdir(path.parent); socket.socket(socket.AF_UNIX).bind(path.name)",
    "vast": "open(path, 'wb').truncate(64 << 30)",
}

Work = Callable[[Path], object]


def inspected(folder: Path) -> object:
    return inspect_data(folder / "d.csv", "d.csv", ModelInput(), folder / "out")


def previewed(folder: Path) -> object:
    declared = DeclaredArrays(x=["x"], y=["y"])
    return preview_data(folder / "d.csv", "d.csv", declared, 0.1, None, folder / "out")


def cut(folder: Path) -> object:
    declared = DeclaredArrays(x=["x"], y=["y"])
    return cut_data(folder / "d.csv", "d.csv", declared, 0.1, folder / "task.toml", folder / "out")


def unpacked(folder: Path) -> object:
    return unpack_draft(folder / "d.csv", "the zip", {}, folder / "out")


def converted(folder: Path) -> object:
    proposals: list[Proposed] = []
    task, out = folder / "task.toml", folder / "out"
    return convert(folder / "d.csv", task, out, propose=proposals.append)


def rehearsed(folder: Path) -> object:
    (folder / "out").mkdir()
    return dry_run(folder, None, folder / "out")


# What is made, and the program that chooses the path of a result and leaves all others as they should be.
RESULTS: dict[str, tuple[Work, str]] = {
    "findings": (inspected, "path = made / 'findings.json'"),
    "preview": (previewed, "path = made / 'shown.json'"),
    "a picture": (inspected, f"(made / 'findings.json').write_text({FOUND!r}); path = made / '0.png'"),
    "shards": (cut, "(made / 'shards').mkdir(); path = made / 'shards' / 'shards.json'"),
    "a part of a draft": (unpacked, "path = made / 'task.toml'"),
    "a proposal": (converted, "made.mkdir(); path = made.parent / 'proposed.json'"),
    "a bundle": (
        converted,
        "made.mkdir(); (made.parent / 'proposed.json').write_text('{}'); path = made / 'bundle.json'",
    ),
    "a report": (rehearsed, "path = made / 'report.json'"),
    "a step": (
        rehearsed,
        f"(made / 'report.json').write_text({REPORT!r}); path = made / 'step.safetensors'",
    ),
}


def refusal_of(work: Work, folder: Path) -> MingaError:
    """Does the work in a thread, as the server does; fails if the thread is blocked."""
    caught: list[BaseException | None] = []

    def run() -> None:
        try:
            work(folder)
            caught.append(None)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), "the server's thread is blocked"
    assert isinstance(caught[0], MingaError), caught
    return caught[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("result", RESULTS)
def test_a_result_that_is_no_plain_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str, kind: str
) -> None:
    work, program = RESULTS[result]
    for name in ("d.csv", "task.toml", "bundle.json"):
        (tmp_path / name).write_text("a,b\n1,2\n")
    (tmp_path / "secret").write_text(INSIDE)
    monkeypatch.setattr("sys.executable", taken_over(tmp_path, f"{program}\n{KINDS[kind]}"))
    error = refusal_of(work, tmp_path)
    assert INSIDE not in str(error)
    # Nothing of it is left where the server looks.
    assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []


def test_a_pipe_in_place_of_its_output_does_not_outlast_the_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    program = "os.unlink('said'); os.mkfifo('said'); time.sleep(60)"
    monkeypatch.setattr("sys.executable", taken_over(tmp_path, program))

    def waits(folder: Path) -> object:
        limits = ProcessLimits(wall_seconds=1.0)
        return inspect_data(folder / "d.csv", "d.csv", ModelInput(), folder / "out", limits=limits)

    error = refusal_of(waits, tmp_path)
    assert isinstance(error, BundleError)
    assert "longer than 1 seconds" in str(error)


def test_a_pipe_in_place_of_its_output_does_not_outlast_a_cancellation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    ready = tmp_path / "ready"
    program = f"os.unlink('said'); os.mkfifo('said'); open({str(ready)!r}, 'w'); time.sleep(60)"
    monkeypatch.setattr("sys.executable", taken_over(tmp_path, program))

    def waits(folder: Path) -> object:
        supervision = Supervision(cancelled=ready.exists)
        return inspect_data(folder / "d.csv", "d.csv", ModelInput(), folder / "out", supervision)

    assert isinstance(refusal_of(waits, tmp_path), CancelledError)


def test_folders_without_end_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.csv").write_text("a,b\n1,2\n")
    program = "os.chdir(made)\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    monkeypatch.setattr("sys.executable", taken_over(tmp_path, program))
    refusal_of(inspected, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "python"]
