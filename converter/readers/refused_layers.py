"""Lists Keras' layers that no model file may hold: what each does, and what to do instead."""

from __future__ import annotations

_TEXT = (
    "turns text into numbers with a vocabulary, and a bundle computes with numbers only; apply it when you "
    'write the shards, keep it beside the task, and begin the model with keras.Input(shape, dtype="int32")'
)
_TABLE = (
    "looks whole numbers up in a table, which no op of a bundle does; apply it when you write the shards and "
    'begin the model with keras.Input(shape, dtype="int32")'
)
_HASH = (
    "hashes its input, which no op of a bundle does; apply it when you write the shards and begin the model "
    'with keras.Input(shape, dtype="int32")'
)
_FOREIGN = "rebuild that part from Keras' own layers"

# Layers that compute with tables, hashes or text, that run their own code, or that read files named in the
# model.
REFUSED_LAYERS = {
    "Lambda": "it carries Python code, which runs only on your own machine, with `minga convert --custom`; "
    "use Keras' own layers instead",
    "TFSMLayer": f"it loads a SavedModel from a path; {_FOREIGN}",
    "JaxLayer": f"it carries JAX code; {_FOREIGN}",
    "FlaxLayer": f"it carries Flax code; {_FOREIGN}",
    "TorchModuleWrapper": f"it carries PyTorch code; {_FOREIGN}",
    "StringLookup": f"it {_TEXT}",
    "TextVectorization": f"it {_TEXT}",
    "IntegerLookup": f"it {_TABLE}",
    "Hashing": f"it {_HASH}",
    "HashedCrossing": f"it {_HASH}",
    "FeatureSpace": "it encodes columns of a table, by vocabularies and hashes; apply it when you write the "
    "shards, and begin the model with get_encoded_features()",
}
