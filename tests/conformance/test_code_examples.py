"""Each architecture of Keras' code examples is equal to Keras or refused with its sentence."""

from __future__ import annotations

import pytest

from tests.conformance.examples_report import AREAS, REFUSED, TABLE, fault, measured

pytestmark = pytest.mark.tensorflow
QUICK = (
    "vision:mnist_convnet",
    "vision:basnet_segmentation",
    "text:text_classification_from_scratch (end to end)",
    "timeseries:timeseries_weather_forecasting",
    "recommender:movielens_recommendations_embeddings",
    "generative:dcgan_overriding_train_step",
    "generative:vae (losses by add_loss)",
)


@pytest.mark.long
@pytest.mark.parametrize("area", AREAS)
def test_every_example_of_an_area_is_equal_or_refused(area: str) -> None:
    results = measured([area])
    assert [fault(result) for result in results if fault(result)] == []
    page = TABLE.read_text("utf-8")
    assert [result["example"] for result in results if f"| {result['example']} | {area} |" not in page] == []


def test_a_handful_is_equal_or_refused() -> None:
    results = measured(QUICK)
    assert len(results) == len(QUICK)
    assert [fault(result) for result in results if fault(result)] == []


def test_a_result_that_should_not_be_is_a_fault() -> None:
    equal = {"worst": 1e-6, "own": False}
    assert fault({"example": "vae", **equal}) == "vae is no longer refused"
    assert fault({"example": "autoencoder", **equal}) is None
    assert "neither" in str(fault({"example": "autoencoder", "failed": "ValueError: no"}))
    assert fault({"example": "autoencoder", "refused": "The model is odd."}) is not None
    assert fault({"example": "vae", "refused": "The model is odd."}) is not None
    assert fault({"example": "vae", "refused": f"The model's class VAE {REFUSED['vae']}."}) is None


def test_the_page_has_every_refusal() -> None:
    page = TABLE.read_text("utf-8").partition("## Refused")[2]
    assert [name for name in REFUSED if f"| {name} |" not in page] == []
