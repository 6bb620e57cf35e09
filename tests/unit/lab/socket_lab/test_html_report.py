"""The page of an attack report, from known curves."""

from __future__ import annotations

import re

import pytest

from backend.lab.robustness.training_curves import TrainingCurves
from backend.lab.socket_lab.attack_grid import AttackReport, AttackResult, GridSettings
from backend.lab.socket_lab.html_report import html_report
from backend.lab.socket_lab.task_copy import LabCohort
from backend.lab.svg_curves import COLOURS

ATTACKS = ("sign-flip", "model-replacement")


def report(rules: tuple[str, ...]) -> AttackReport:
    settings = GridSettings(rules, ATTACKS, LabCohort(10, 3, 2), 0.3, 0)
    results = []
    for rule, attack in settings.trainings:
        final = 0.8 if attack == "none" or rule != "mean" else 0.4
        backdoor = [0.5, 1.0 if rule == "mean" else 0.0] if attack == "model-replacement" else []
        lost = (rule, attack) == ("krum", "sign-flip")
        reason = "7 of at least 9 updates arrived in time." if lost else None
        ejected = 5 if rule == "krum" else 0
        curves = TrainingCurves([0.1, final], backdoor, 3, ejected, int(lost), reason)
        results.append(AttackResult(rule, attack, curves))
    return AttackReport("<digits>", 7490, settings, results)


def test_a_page_has_a_cell_for_each_rule_and_attack_and_loads_nothing() -> None:
    page = html_report(report(("krum",)))
    rows = re.findall(r"<tr><th>(.+?)</th>(.+?)</tr>", page)
    assert [name for name, _ in rows] == ["Rule", "mean", "krum"]
    mean, krum = (cells.split("<td>")[1:] for _, cells in rows[1:])
    shares = [re.findall(r">(\d+)%", cell)[0] for cell in (*mean, *krum)]
    assert shares == [*("100", "50", "50"), *("100", "100", "100")]
    assert 'class="bad">Backdoor: 100%' in mean[2]
    assert 'class="good">Backdoor: 0%' in krum[2]
    assert "Honest left out: 5" in krum[0]
    assert "Abandoned rounds: 1" in krum[1]
    assert "7 of at least 9 updates arrived in time." in page
    assert "&lt;digits&gt;" in page
    assert "<digits>" not in page
    assert not re.search(r"(src|href)=|url\(|<script", page)


@pytest.mark.parametrize(("rules", "figures"), [(("krum",), 4), (tuple(f"rule-{n}" for n in range(8)), 8)])
def test_every_training_has_its_curve(rules: tuple[str, ...], figures: int) -> None:
    page = html_report(report(rules))
    drawn = re.findall(r"<svg xmlns.+?</svg>", page, re.DOTALL)
    lines = [svg.count("<polyline") for svg in drawn]
    assert len(drawn) == figures  # Accuracy of each attack and of none, and the success of one backdoor.
    assert max(lines) <= len(COLOURS)
    assert sum(lines) == 4 * (1 + len(rules))
    for rule in rules:
        assert page.count(f"</svg>{rule}</li>") == 4
