"""`minga privacy` answers owners in sentences, and programs in JSON."""

from __future__ import annotations

import json

import pytest

from backend.__main__ import REFUSED, main
from tests.support.timeouts import HEAVY


@pytest.mark.timeout(HEAVY)
def test_it_says_how_much_noise_an_epsilon_takes_and_that_noise_keeps_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["privacy", "--epsilon", "8", "--rounds", "100", "--json"]) == 0
    needed = json.loads(capsys.readouterr().out)["noise_multiplier"]
    assert main(["privacy", "--noise-multiplier", str(needed), "--rounds", "100", "--json"]) == 0
    kept = json.loads(capsys.readouterr().out)["epsilon"]
    assert 7.99 < kept <= 8.0


def test_it_says_what_noise_is_worth_and_what_figures_with_sampling_are_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["privacy", "--noise-multiplier", "1", "--rounds", "100", "--sampling", "0.1"]) == 0
    told = capsys.readouterr().out
    assert "epsilon 7.047 at delta 1e-05 for a client that takes part in 100 of 100 rounds" in told
    assert "Minga claims no gain from sampling" in told


def test_local_noise_and_trees_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["privacy", "--epsilon", "8", "--rounds", "50", "--mechanism", "local"]) == 0
    assert "against the server too" in capsys.readouterr().out
    assert main(["privacy", "--epsilon", "4", "--rounds", "100", "--taken", "1", "--tree", "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)["noise_multiplier"]
    assert main(["privacy", "--epsilon", "4", "--rounds", "100", "--taken", "1", "--json"]) == 0
    assert tree == pytest.approx(json.loads(capsys.readouterr().out)["noise_multiplier"] * 7**0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--epsilon", "8", "--rounds", "10", "--taken", "11"], "takes part in at most all rounds"),
        (["--epsilon", "8", "--rounds", "10", "--sampling", "0.1", "--tree"], "leave one of them out"),
    ],
)
def test_what_contradicts_is_refused(
    flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["privacy", *flags]) == REFUSED
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "flags",
    [
        ["--epsilon", "0"],
        ["--epsilon", "much"],
        ["--noise-multiplier", "-1"],
        ["--epsilon", "1", "--delta", "1"],
        ["--epsilon", "1", "--rounds", "0"],
    ],
)
def test_numbers_that_make_no_sense_are_refused(flags: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["privacy", "--rounds", "10", *flags])
