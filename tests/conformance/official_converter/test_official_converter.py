"""TF.js graph models of Minga predict what those of TF.js' own converter predict.

The other side fails for some models; its faults are listed, so that a newer version's better work shows.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance.official_converter.both_exports import (
    OURS,
    THEIRS,
    build,
    graph_models,
    layers_models,
)
from tests.support.timeouts import LONG

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.long,
    pytest.mark.timeout(LONG),
    # Of Keras' and TensorFlow's own saving.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

# The largest absolute difference of an output; outputs are about 1.
LIMIT = 1e-5
GALLERY = ("cifar10", "digits", "titanic")
ZOO = (
    "batch-normalization",
    "cnn",
    "conv1d",
    "dropout",
    "efficientnet",
    "mobilenet",
    "resnet",
    "text-cnn",
    "unet",
    "wavenet",
)
# TF.js cannot run a loop of TensorLists that its converter makes of a recurrent layer.
LOOPS = ("text-lstm", "lstm")
# Models whose Layers export was tried, and the layer for which ours refers to a graph model.
LAYERS = {"cnn": "", "digits": "", "mobilenet": "", "titanic": "", "unet": "no Conv2DTranspose"}


@pytest.mark.parametrize("name", [*GALLERY, *ZOO])
def test_graph_models_of_both_predict_the_same(name: str, tmp_path: Path) -> None:
    exports = graph_models(build(name), tmp_path)
    assert exports.faults == {}
    assert exports.difference(OURS, THEIRS) < LIMIT
    assert exports.difference(OURS) < LIMIT
    assert exports.difference(THEIRS) < LIMIT


@pytest.mark.parametrize("name", LOOPS)
def test_recurrent_layers_run_in_tfjs_from_ours_alone(name: str, tmp_path: Path) -> None:
    exports = graph_models(build(name), tmp_path)
    assert exports.difference(OURS) < LIMIT
    assert re.search("Cannot compute the outputs", exports.faults[THEIRS])


def test_what_tfjs_has_no_op_for_is_refused_by_both(tmp_path: Path) -> None:
    exports = graph_models(build("shakespeare"), tmp_path)
    assert exports.outputs == {}
    assert "Erfc" in exports.faults[OURS]
    assert "Erfc" in exports.faults[THEIRS]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layers_model_of_keras_3_loads_in_tfjs_from_ours_alone(name: str, tmp_path: Path) -> None:
    exports = layers_models(build(name), tmp_path)
    assert "An InputLayer should be passed either a `batchInputShape`" in exports.faults[THEIRS]
    if LAYERS[name]:
        assert LAYERS[name] in exports.faults[OURS]
    else:
        assert exports.difference(OURS) < LIMIT
