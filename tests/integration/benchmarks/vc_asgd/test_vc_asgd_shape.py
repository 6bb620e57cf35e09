"""The experiments of VC-ASGD at the paper's shape: kept runs, verdicts, and one small cell of each kind."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.support.dense_task import ROOT
from benchmarks.vc_asgd.cells import CELLS, PLACES, CellRun, RunFolder, chosen_cells
from benchmarks.vc_asgd.costs import BLOCKS, ModelCosts, extended
from benchmarks.vc_asgd.paper import PaperPlan, check_plan, expected
from benchmarks.vc_asgd.report import Epoch, summarize
from benchmarks.vc_asgd.run import Blend, Experiment, Trained, read_rows
from benchmarks.vc_asgd.shape import add_shape_flags, misplaced_flags, save_shape
from benchmarks.vc_asgd.shape_report import paper_rows, shape_pictures, virtual_rows, with_rows
from benchmarks.vc_asgd.verdicts import (
    VERDICT_HEAD,
    ClaimVerdict,
    crossover,
    is_u_shaped,
    verdict_rows,
    verdicts,
)
from benchmarks.vc_asgd.virtual import Machines, VirtualReport, VirtualRun, simulate
from tests.integration.benchmarks.accuracy.test_federated import polylines
from tests.support.plugins.requirements import real_data

KEPT = ROOT / "docs" / "explanation" / "volunteer-training"


def cell_run(cell: str, seed: int, accuracies: list[float]) -> CellRun:
    """A finished run with these accuracies of its epochs in per cent."""
    experiment = CELLS[cell]
    if experiment is None:
        epochs = [Epoch(n + 1, 10.0 * (n + 1), one, one, one) for n, one in enumerate(accuracies)]
        return CellRun(cell, seed, 10, 500, len(accuracies), None, epochs)
    blends = [Blend(10.0 * (n + 1), n + 1, "a", 0, 0.0, one / 100) for n, one in enumerate(accuracies)]
    run = summarize(experiment, Trained(blends, 1.0))
    return CellRun(cell, seed, 10, 500, len(accuracies), run, [])


def all_runs(epochs: int = 20) -> list[CellRun]:
    """Runs of all cells with which every claim about accuracy holds."""
    rising = [20.0 + number for number in range(epochs)]
    slower = [15.0 + 1.1 * number for number in range(epochs)]
    runs = [cell_run(cell, seed, slower) for cell in PLACES for seed in (1, 2)]
    runs += [cell_run("P3C3T4/0.7", 1, [16.0 + number for number in range(epochs)])]
    runs += [cell_run("P3C3T4/0.999", 1, [10.0 + 0.1 * number for number in range(epochs)])]
    return [*runs, cell_run("P3C3T4/e", 1, rising), cell_run("serial", 1, [one + 9 for one in rising])]


def virtual_run(servers: int, clients: int, slots: int, seconds: float, lost: float = 0.0) -> VirtualRun:
    name = Experiment(servers, clients, slots).name
    return VirtualRun(name, servers, clients, slots, 500, seconds, lost, 0.5, 1.0, 3.0)


def virtual_report() -> VirtualReport:
    """A U-shape of 36,000, 18,000 and 27,000 seconds, and half the time with five clients."""
    cells = [
        virtual_run(one.servers, one.clients, one.slots, 72_000 / one.servers / one.slots)
        for one in PLACES.values()
    ]
    by_servers = [
        virtual_run(count, 5, 8, seconds, lost)
        for count, seconds, lost in ((1, 36_000, 0.0), (3, 18_000, 0.0), (8, 27_000, 0.5))
    ]
    by_clients = [
        virtual_run(5, count, 2, seconds) for count, seconds in ((3, 36_000), (5, 18_000), (6, 15_000))
    ]
    return VirtualReport(Machines(), 10, 40, cells, by_servers, by_servers[:1], by_clients)


# Cells and runs that are kept.


def test_the_nine_cells_are_those_of_the_paper_and_there_are_four_alphas_and_a_serial_run() -> None:
    assert len(PLACES) == 9
    assert {"P1C3T2", "P1C3T8", "P3C3T8", "P5C5T2"} <= set(PLACES)
    assert [getattr(CELLS[cell], "alpha", "-") for cell in list(CELLS)[9:]] == [0.7, 0.999, None, "-"]


def test_cells_are_chosen_by_name_in_their_own_order() -> None:
    assert chosen_cells([]) == list(CELLS)
    assert chosen_cells(["serial", "P1C3T2"]) == ["P1C3T2", "serial"]
    with pytest.raises(RuntimeError, match=r"'P2C2T2' is no cell; there are P1C3T2, "):
        chosen_cells(["P2C2T2"])


def test_finished_runs_are_kept_and_not_missing_any_more(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "runs", 500, 2)
    assert folder.missing(["P1C3T2", "serial"], [1, 2]) == [
        ("P1C3T2", 1),
        ("serial", 1),
        ("P1C3T2", 2),
        ("serial", 2),
    ]
    run = cell_run("P3C3T4/0.7", 1, [10.0, 20.0])
    folder.write(run)
    assert RunFolder(tmp_path / "runs", 500, 2).read("P3C3T4/0.7", 1) == run
    assert folder.missing(["P3C3T4/0.7"], [1]) == []
    assert folder.all(["P3C3T4/0.7", "serial"], [1, 2]) == [run]
    # Other numbers of epochs or images are other runs.
    assert RunFolder(tmp_path / "runs", 500, 3).read("P3C3T4/0.7", 1) is None
    assert RunFolder(tmp_path / "runs", 1000, 2).read("P3C3T4/0.7", 1) is None


def test_a_file_without_a_run_is_named(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, 500, 2)
    folder.path("serial", 1).write_text('{"cell": 3')
    with pytest.raises(RuntimeError, match=r"serial-seed-1-.* holds no run .*delete it"):
        folder.missing(["serial"], [1])
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="is a file; --runs takes a folder"):
        RunFolder(tmp_path / "file", 500, 2)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (PaperPlan(["serial"], [1], 0, 500), "--epochs is at least 1"),
        (PaperPlan(["serial"], [1], 1, 550), "--examples is a multiple of 500"),
        (PaperPlan(["serial"], [1], 1, 0), "--examples is a multiple of 500"),
        (PaperPlan(["serial"], [1, 1], 1, 500), "--seeds are different numbers"),
        (PaperPlan(["serial"], [], 1, 500), "--seeds are different numbers"),
    ],
)
def test_plans_with_which_nothing_can_be_trained_are_refused(plan: PaperPlan, sentence: str) -> None:
    with pytest.raises(RuntimeError, match=sentence):
        check_plan(plan)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cells", "serial"], "--cells goes with --paper or --virtual"),
        (["--estimate"], "--estimate goes with --paper or --virtual"),
        (["--virtual", "--seeds", "1"], "--seeds goes with --paper"),
        (["--paper"], "--paper takes hours; give --runs FOLDER"),
        (["--paper", "--quick", "--runs", "x"], "--quick goes without --paper"),
        (["--paper", "--estimate"], ""),
        (["--virtual", "--epochs", "2"], ""),
        (["--quick"], ""),
    ],
)
def test_flags_of_other_experiments_are_refused(words: list[str], sentence: str) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs")
    add_shape_flags(parser)
    message = misplaced_flags(parser.parse_args(words))
    assert message.startswith(sentence)
    assert bool(message) == bool(sentence)


def test_the_time_of_all_runs_follows_from_one_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert expected(39, 40, 0.9, 1000).endswith("39 runs of 40 epochs take 9.8 hours or more on 2 cores.")


def test_results_are_read_from_the_servers_file() -> None:
    text = (
        "number,epoch,at,client,staleness,lost,held-out loss,held-out accuracy\r\n"
        "1,1,2026-01-01T00:00:01.500+00:00,a,0,0.0,,\r\n"
        "2,1,2026-01-01T00:00:02.000+00:00,b,1,0.5,2.0,0.25\r\n"
    )
    first, second = read_rows(text)
    assert (first["metrics"], second["metrics"]) == ({}, {"accuracy": 0.25})
    assert second["at"] - first["at"] == 0.5
    assert (second["epoch"], second["client"], second["staleness"], second["lost"]) == (1, "b", 1, 0.5)


def test_costs_of_a_deep_network_follow_from_two_shallow_ones() -> None:
    costs = extended(ModelCosts(1000, 0.02, 0.004), ModelCosts(1500, 0.03, 0.006))
    assert BLOCKS == 18
    assert costs.parameters == 5000
    assert (costs.train, costs.evaluate) == pytest.approx((0.1, 0.02))


# Verdicts.


def test_a_curve_crosses_where_it_stays_above() -> None:
    slow = {1: 1.0, 2: 3.0, 3: 2.0, 4: 4.0, 5: 5.0}
    assert crossover(slow, {1: 2.0, 2: 2.0, 3: 3.0, 4: 3.0, 5: 3.0}) == 4
    assert crossover(slow, {1: 2.0, 5: 6.0}) is None
    assert crossover({}, {}) is None


@pytest.mark.parametrize(
    ("values", "found"), [([3, 1, 2], True), ([3, 2, 1], False), ([3, 1, 1.04], False), ([1, 2, 3], False)]
)
def test_a_u_shape_has_its_lowest_value_inside(values: list[float], found: bool) -> None:
    assert is_u_shaped(values) is found


def by_claim(found: list[ClaimVerdict]) -> dict[str, tuple[str, str]]:
    return {one.claim.partition(",")[0]: (one.ours, one.found) for one in found}


def test_each_claim_is_found_where_it_holds() -> None:
    found = verdicts(all_runs(), virtual_report())
    assert {one.found for one in found if "Redis" not in one.claim} == {"yes"}
    ours = by_claim(found)
    assert ours["0.95 overtakes 0.7"] == ("epoch 12", "yes")
    assert ours["P"] == ("35.9 to 35.9 %", "yes")
    assert ours["one machine alone ends more accurate"][0] == "48.0 against 35.9 %"
    assert ours["more parameter servers are faster"][0] == "P1: 10.0 h, P3: 5.0 h, P8: 7.5 h"
    assert ours["more clients need half the time"][0] == "3 to 5 clients: -50 %, half with 5"


def test_claims_are_not_found_where_they_do_not_hold() -> None:
    slow = virtual_report()
    slow.by_clients[1] = virtual_run(5, 5, 2, 30_000)
    slow.by_servers.pop()
    ours = by_claim(verdicts([], slow))
    assert ours["more clients need half the time"] == ("3 to 5 clients: -17 %, half with 6", "no")
    assert ours["more parameter servers are faster"] == ("P1: 10.0 h, P3: 5.0 h", "no")
    slow.by_clients.pop()
    assert by_claim(verdicts([], slow))["more clients need half the time"][0].endswith(
        "half with more than 5"
    )


def test_claims_without_runs_or_with_few_epochs_are_not_run() -> None:
    found = verdicts([], None)
    assert [one.found for one in found if "Redis" not in one.claim] == ["not run"] * (len(found) - 1)
    short = by_claim(verdicts(all_runs(epochs=5), None))
    assert short["0.95 overtakes 0.7"] == ("-", "not run")
    assert short["P"][1] == "yes"
    incomplete = [run for run in all_runs() if run.cell != "P1C3T8"]
    assert by_claim(verdicts(incomplete, None))["P"] == ("-", "not run")


def test_cells_are_compared_with_the_seeds_that_all_of_them_have() -> None:
    another = [cell_run(cell, 7, [99.0] * 20) for cell in ("P3C3T4", "P3C3T4/e", "serial", "P1C3T2")]
    assert verdicts([*all_runs(), *another], None) == verdicts(all_runs(), None)
    assert shape_pictures([*all_runs(), *another], None) == shape_pictures(all_runs(), None)


def test_tables_and_pictures_show_what_was_run() -> None:
    page = "\n".join([*VERDICT_HEAD, "| old |", "", "The end."])
    found = verdicts(all_runs(), virtual_report())
    made = with_rows(page, {VERDICT_HEAD[0]: verdict_rows(found), "| none |": []})
    assert "| old |" not in made
    assert made.endswith("\nThe end.\n")
    assert paper_rows(all_runs())[2] == "| P1C3T2 | 2 | 200 | 35.9 % (35.9 to 35.9) |"
    assert "| P1C5T8 | 500 images | 10.0 | 50 % | 1 | 0 % | 3 |" in virtual_rows(virtual_report())
    assert {
        name: len(polylines(one)) for name, one in shape_pictures(all_runs(), virtual_report()).items()
    } == {
        "paper-p1c3": 3,
        "paper-p3c3": 3,
        "paper-p5c5": 3,
        "paper-alpha": 4,
        "paper-serial": 2,
        "virtual-servers": 2,
        "virtual-clients": 1,
        "virtual-slots": 3,
    }
    assert shape_pictures([], None) == {}
    one_cell = [run for run in all_runs() if run.cell == "P3C3T4"]
    assert set(shape_pictures(one_cell, None)) == {"paper-alpha"}


# Real and simulated runs.


@pytest.mark.long
@pytest.mark.tensorflow
def test_all_cells_are_simulated() -> None:
    notes: list[str] = []
    report = simulate(
        Machines(store="memory"), 1, 1, notes.append, parameters=1010, servers=(1, 2), clients=(3, 5)
    )
    assert [run.name for run in report.cells] == list(PLACES)
    assert [run.servers for run in report.by_servers] == [1, 2]
    assert len(notes) == len(PLACES) + 6
    # A unit takes a core 144 s, and three clients with two at once train 50.
    assert report.cells[0].seconds > 50 / 6 * 144
    by_servers = report.by_servers
    assert by_servers[0].busy > 0.8
    assert by_servers[1].seconds < by_servers[0].seconds


@pytest.mark.long
@pytest.mark.tensorflow
def test_a_cell_is_trained_once_and_then_read(tmp_path: Path) -> None:
    environment = os.environ | {"MINGA_DATA": str(real_data("cifar10_train.zip").parent)}
    words = ["--paper", "--cells", "P1C3T2", "serial", "--seeds", "1", "--epochs", "1", "--examples", "500"]
    command = [sys.executable, "-m", "benchmarks.vc_asgd", *words, "--runs", str(tmp_path), "--json"]
    first, again = (
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
        for _ in range(2)
    )
    assert "2 runs of 1 epochs take" in first.stderr
    assert "2 of 2 runs are there." in again.stderr
    assert json.loads(first.stdout) == json.loads(again.stdout)
    volunteers, serial = msgspec.convert(json.loads(first.stdout)["runs"], list[CellRun])
    assert volunteers.run is not None
    assert (volunteers.parameters, volunteers.run.results, len(volunteers.curve)) == (582_526, 50, 1)
    assert (serial.run, len(serial.curve)) == (None, 1)


def test_the_documented_verdicts_and_pictures_are_those_of_the_kept_results(tmp_path: Path) -> None:
    copy = tmp_path / KEPT.name
    copy.mkdir()
    (copy / "virtual.json").write_bytes((KEPT / "virtual.json").read_bytes())
    if (KEPT / "paper").is_dir():
        (copy / "paper").symlink_to(KEPT / "paper")
    page = copy.with_suffix(".md")
    page.write_bytes(KEPT.with_suffix(".md").read_bytes())
    save_shape(copy)
    assert page.read_text("utf-8") == KEPT.with_suffix(".md").read_text("utf-8")
    for path in (*copy.glob("*.svg"), copy / "verdicts.json"):
        assert path.read_text("utf-8") == (KEPT / path.name).read_text("utf-8")
