"""Families of keras.applications take a step as in Keras; `make conformance` takes all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.applications_report import FAMILIES, faults, measured
from tests.support.keras.reference_cache import run_module

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]
# Those that are converted and measured within half a minute.
QUICK = ("mobilenet", "mobilenetv2", "mobilenetv3small", "efficientnetb0", "inceptionresnetv2")


@pytest.mark.parametrize("name", QUICK)
def test_a_family_trains_as_in_keras_or_is_refused(name: str, tmp_path: Path) -> None:
    assert faults(measured(name, tmp_path)) == []


def test_no_family_of_keras_is_missing() -> None:
    printed = run_module("tests.support.keras.application_steps")
    assert json.loads(printed.splitlines()[-1]) == [list(FAMILIES), []]
