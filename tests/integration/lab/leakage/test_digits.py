"""Digits of the gallery's task: read from an update in the open, and from nothing that is protected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from backend.commands.build import build_task
from backend.errors import SettingsError, TaskFileError
from backend.formats.task_file import read_task_file
from backend.lab.leakage.experiment import ATTACKS, LeakageExperiment, LeakageReport, LeakageSettings
from backend.lab.leakage.html_report import html_report
from backend.lab.leakage.inversion import AttackEffort
from backend.lab.leakage.lab_task import LabTask, last_bias, open_lab_task
from backend.lab.leakage.server_views import PROTECTIONS, ProtectionSettings
from backend.peer.training.graphs import open_bundle
from tests.support.timeouts import HEAVY, LONG

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

DIGITS = Path(__file__).parents[4] / "models" / "digits"
# A sum of noised updates gives eight pictures, of which one is a little like any digit.
RECOGNIZABLE, HIDDEN, HIDDEN_IN_SUM = 0.8, 0.2, 0.3
SECRET = {
    "masked": HIDDEN,
    "local": HIDDEN,
    "distributed": HIDDEN_IN_SUM,
    "central": HIDDEN_IN_SUM,
    "examples": HIDDEN,
}
QUICK = AttackEffort(steps=60, evaluations=120, guesses=1)


def opened(*overrides: str) -> LabTask:
    build_task(DIGITS)
    path = DIGITS / "task.toml"
    return open_lab_task(path, read_task_file(path, overrides), None)


def settings(task: LabTask, *protections: str, examples: int = 1, group: int = 8) -> LeakageSettings:
    chosen = ProtectionSettings.of(task.file, None, None, group)
    return LeakageSettings(protections, ("idlg",), 1, examples, 3, QUICK, chosen)


def attacked(task: LabTask, chosen: LeakageSettings, folder: Path) -> LeakageReport:
    return LeakageExperiment(task, chosen, folder).run(lambda *_: None)


def test_a_digit_is_read_from_an_update_in_the_open_and_from_no_protected_one(tmp_path: Path) -> None:
    task = opened("training.epochs=1")
    report = attacked(task, settings(task, "open", *SECRET), tmp_path)
    in_the_open, *protected = report.results
    assert in_the_open.inferred
    assert in_the_open.labels == 1.0
    assert in_the_open.similarity >= RECOGNIZABLE
    for result in protected:
        assert result.similarity <= SECRET[result.protection], result.protection
    page = html_report(report)
    assert page.count("<img") == 1 + len(report.results)
    assert "http" not in page


def test_members_of_a_sum_send_what_they_send_in_a_masked_round(tmp_path: Path) -> None:
    """Without noise the sum's mean is that of the updates; with it, it is far from it."""
    task = opened("training.epochs=1")
    chosen = settings(task, "open", group=4)
    experiment = LeakageExperiment(task, chosen, tmp_path)
    group = experiment.trial(0)
    mean = np.mean(group.updates, axis=0, dtype=np.float64)
    views = {name: PROTECTIONS[name].view(group, chosen.protection, bytes(32)) for name in PROTECTIONS}
    assert np.abs(views["masked-sum"].update - mean).max() < 1e-5
    for name in ("distributed", "central"):
        deviation = np.std(views[name].update - mean)
        assert deviation == pytest.approx(chosen.protection.noise * chosen.protection.clip / 4, rel=0.05)
    assert np.std(views["local"].update - group.updates[0]) == pytest.approx(1.0, rel=0.05)
    # A masked update alone is uniform over everything that can be encoded.
    span = np.abs(views["masked"].update).max()
    assert np.std(views["masked"].update) == pytest.approx(span / 3**0.5, rel=0.05)


def test_settings_that_do_not_fit_the_task_are_refused(tmp_path: Path) -> None:
    task = opened()
    with pytest.raises(SettingsError, match="Lower --group or --examples"):
        LeakageExperiment(task, settings(task, "open", examples=5), tmp_path)
    with pytest.raises(SettingsError, match="over the 32 of one step"):
        LeakageExperiment(task, settings(task, "open", examples=33), tmp_path)


def test_a_task_without_a_bundle_is_told_to_be_built(tmp_path: Path) -> None:
    path = tmp_path / "task.toml"
    path.write_text((DIGITS / "task.toml").read_text("utf-8"), "utf-8")
    with pytest.raises(TaskFileError, match="minga build"):
        open_lab_task(path, read_task_file(path), None)


def test_models_that_the_attacks_do_not_fit_are_refused_with_the_reason() -> None:
    build_task(DIGITS)
    path = DIGITS / "task.toml"
    manifest = open_bundle(DIGITS / "built" / "bundle", ()).manifest
    bias = last_bias(path, manifest)
    assert bias.stop - bias.start == 10
    (pixels,), (output,) = manifest.inputs, manifest.outputs
    for changed, sentence in (
        (replace(manifest, inputs=[replace(pixels, shape=[64])]), "reconstructs pictures"),
        (replace(manifest, inputs=[replace(pixels, dtype="int32")]), "whole numbers"),
        (replace(manifest, outputs=[replace(output, loss="mse")]), "sparse_categorical_crossentropy"),
        (replace(manifest, layout=manifest.layout[:-1]), "has none"),
    ):
        with pytest.raises(TaskFileError, match=sentence):
            last_bias(path, changed)


@pytest.mark.long
@pytest.mark.timeout(LONG)
def test_every_protection_is_attacked_with_full_effort(tmp_path: Path) -> None:
    task = opened("training.epochs=1")
    chosen = settings(task, *PROTECTIONS)
    chosen = LeakageSettings(tuple(PROTECTIONS), tuple(ATTACKS), 3, 1, 5, AttackEffort(), chosen.protection)
    report = attacked(task, chosen, tmp_path)
    results = {result.protection: result for result in report.results}
    assert results["open"].similarity >= RECOGNIZABLE
    # Of each attack alone: the best of three for each picture is chosen with the picture in hand, by luck.
    for name, most in SECRET.items():
        assert max(results[name].attacks.values()) <= most, (name, results[name].attacks)
    # The sum of eight volunteers shows no one's picture better than eight other digits do.
    assert results["masked-sum"].similarity < report.guessed
