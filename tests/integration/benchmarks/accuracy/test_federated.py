"""Federated training is compared with Keras as the documentation says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from backend.lab.svg_curves import HEIGHT, WIDTH, Line, draw
from benchmarks.accuracy.report import TITLES, Compared, Point, Run, picture, report, rows, with_rows
from benchmarks.support.dense_task import ROOT
from tests.support.plugins.requirements import real_data

pytestmark = pytest.mark.long

KEPT = ROOT / "docs" / "explanation" / "accuracy"
SVG = "{http://www.w3.org/2000/svg}"
ROUNDS, EXAMPLES = 4, 100


@pytest.mark.tensorflow
def test_four_peers_and_keras_train_on_as_many_samples_of_the_same_examples(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks.accuracy.federated",
        "--task",
        "titanic",
        "--partition",
        "dirichlet",
    ]
    command += ["--rounds", str(ROUNDS), "--examples", str(EXAMPLES), "--save", str(tmp_path), "--json"]
    environment = os.environ | {"MINGA_DATA": str(real_data("titanic.csv").parent)}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert json.loads((tmp_path / "titanic.json").read_text()) == found
    assert (found["examples"], found["held_out"], found["rounds"]) == (70, 30, ROUNDS)
    [central], [federated], [summary] = found["central"], found["federated"], found["summary"]
    assert (central["parts"], sum(federated["parts"]), len(federated["parts"])) == ([70], 70, 4)
    samples = [point["samples"] for point in federated["points"]]
    assert samples == [point["samples"] for point in central["points"]]
    assert samples[-1] == summary["samples"]
    ends = [run["points"][-1]["accuracy"] for run in (federated, central)]
    assert summary["difference"] == pytest.approx(100 * (ends[0] - ends[1]), abs=0.01)
    assert all(end * 30 == pytest.approx(round(end * 30), abs=0.01) for end in ends)
    assert len(polylines((tmp_path / "titanic.svg").read_text())) == 2


def polylines(svg: str) -> list[list[tuple[float, float]]]:
    """The points of each line, in the picture's units."""
    lines = ElementTree.fromstring(svg).findall(f"{SVG}polyline")  # noqa: S314 - our own picture
    return [
        [(float(x), float(y)) for x, y in (p.split(",") for p in line.attrib["points"].split())]
        for line in lines
    ]


def test_a_curve_lies_inside_its_picture_and_rises_with_its_values() -> None:
    line = Line("a < b", [10.0, 20.0, 40.0], [1.0, 2.0, 4.0], [0.5, 2.0, 3.0], [1.0, 2.5, 5.0])
    [points] = polylines(draw("T & t", "x", "y", [line]))
    across, down = zip(*points, strict=True)
    assert sorted(across) == list(across)
    assert sorted(down, reverse=True) == list(down)
    assert 0 < min(across) < max(across) < WIDTH
    assert 0 < min(down) < max(down) < HEIGHT


def test_lines_that_never_change_are_drawn_too() -> None:
    flat = Line("flat", [1.0], [0.5], [0.5], [0.5])
    assert len(polylines(draw("flat", "x", "y", [flat]))) == 1


@pytest.mark.parametrize("height", [0.1, 0.15, 0.2, 0.9])
def test_the_key_covers_no_line_that_leaves_room_for_it(height: float) -> None:
    x = [float(number) for number in range(101)]
    bounds = Line("bounds", [0.0], [0.0], [0.0], [1.0])
    line = Line("line", x, [height] * 101, [height] * 101, [height] * 101)
    picture = draw("key", "x", "y", [bounds, line])
    [_, points] = polylines(picture)
    rows = [float(y) for y in re.findall(r'<path d="M[0-9]+ ([0-9.]+)h24"', picture)]
    assert len(rows) == 2
    assert not min(rows) - 8 <= points[-1][1] <= max(rows) + 8


PAGE = """# Results

| task | more |
|---|---|
| A | 1 |
| A | 2 |
| B | 3 |

The end.
"""


def test_new_rows_of_a_task_take_the_place_of_its_old_ones() -> None:
    assert with_rows(PAGE, ["| A | 4 |"]) == PAGE.replace("| A | 1 |\n| A | 2 |", "| A | 4 |")
    assert with_rows(PAGE, ["| C | 5 |"]) == PAGE.replace("| B | 3 |", "| B | 3 |\n| C | 5 |")


def run(partition: str, seed: int, *points: tuple[int, float]) -> Run:
    return Run(partition, seed, [1], 1.0, [Point(samples, accuracy, 0.5) for samples, accuracy in points])


def test_each_partition_is_compared_after_as_many_samples_as_it_took() -> None:
    compared = [
        Compared(
            1,
            10,
            10,
            2,
            run("central", seed, (100, 0.5), (190, 0.7), (200, 0.8)),
            [run("iid", seed, (100, 0.4), (200, 0.7)), run("dirichlet", seed, (190, 0.5 + 0.1 * seed))],
        )
        for seed in (1, 2)
    ]
    found = report("titanic", compared)
    assert [(one.partition, one.samples) for one in found.summary] == [("iid", 200), ("dirichlet", 190)]
    assert [one.difference for one in found.summary] == pytest.approx([-10.0, -5.0])
    assert [one.spread for one in found.summary] == pytest.approx([0.0, 7.07])
    assert len(polylines(picture(found))) == 3


def test_the_documented_table_is_that_of_the_kept_results() -> None:
    page = KEPT.with_suffix(".md").read_text("utf-8").splitlines()
    documented = [
        line for line in page if line.startswith(tuple(f"| {title} |" for title in TITLES.values()))
    ]
    found = [json.loads(path.read_text("utf-8")) for path in KEPT.glob("*.json")]
    assert documented
    assert sorted(documented) == sorted(row for one in found for row in rows(one))
