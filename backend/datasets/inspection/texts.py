"""Inspects plain texts, and texts in folders named by their class."""

from __future__ import annotations

from collections import Counter

from backend.datasets.inspection.findings import MAX_TEXTS, SHOWN_CHARACTERS, DataFindings, Snippet, shown
from backend.datasets.inspection.model_input import ModelInput
from backend.datasets.readers.files import Files, folder_of
from backend.errors import DataError
from backend.numerics.preprocess.text import decode_text

# Default length of windows in characters, and of texts with a class in bytes.
_WINDOW, _CLASS_BYTES = 64, 256


def inspect_texts(files: Files, model_input: ModelInput) -> DataFindings:
    """Reads the texts once. Raises DataError, naming the file."""
    folders = Counter(folder_of(name) for name in files.names)
    if len(folders) > 1 and "" not in folders:
        return _by_class(files, dict(sorted(folders.items())), model_input)
    return _plain(files, model_input)


def _by_class(files: Files, classes: dict[str, int], model_input: ModelInput) -> DataFindings:
    texts = [Snippet(shown(folder_of(name)), _beginning(files, name)) for name in _sampled_names(files)]
    preprocess = {
        "kind": "text",
        "tokenizer": "bytes",
        "length": _length(model_input, _CLASS_BYTES),
        "labels": "folders",
        "classes": list(classes),
        "encoding": model_input.encoding,
    }
    notes = ["Each folder is a class, and each file in it one text."]
    class_counts = {shown(name): count for name, count in classes.items()}
    return DataFindings(
        "text", len(files.names), class_counts, texts=texts, preprocess=preprocess, notes=notes
    )


def _plain(files: Files, model_input: ModelInput) -> DataFindings:
    characters: Counter[str] = Counter()
    for name in files.names:
        characters.update(_read(files, name))
    length, total = _length(model_input, _WINDOW), characters.total()
    if total <= length:
        raise DataError(
            f"The text has {total} characters, fewer than one window of {length}; bring a longer one."
        )
    model_classes = model_input.classes
    preprocess: dict[str, object] = {"kind": "text", "length": length, "unknown": "drop"}
    notes = [f"The model learns to continue the text, in windows of {length} characters."]
    if model_classes == 256:
        preprocess = {"kind": "text", "length": length, "tokenizer": "bytes"}
    elif model_classes is not None and model_classes < len(characters):
        preprocess |= {"tokenizer": "characters", "vocabulary": model_classes}
        notes.append(
            f"The text has {len(characters)} different characters; "
            f"the {model_classes} most frequent are kept."
        )
    else:
        preprocess |= {"tokenizer": "characters", "tokens": sorted(characters)}
        notes.append(f"The text has {len(characters)} different characters.")
    texts = [Snippet("", _beginning(files, name)) for name in _sampled_names(files)]
    return DataFindings("text", total // length, texts=texts, preprocess=preprocess, notes=notes)


def _length(model_input: ModelInput, usual: int) -> int:
    return model_input.shape[0] if model_input.shape and len(model_input.shape) == 1 else usual


def _sampled_names(files: Files) -> list[str]:
    step = max(1, len(files.names) // MAX_TEXTS)
    return list(files.names[::step])[:MAX_TEXTS]


def _beginning(files: Files, name: str) -> str:
    return shown(_read(files, name)[: 2 * SHOWN_CHARACTERS])


def _read(files: Files, name: str) -> str:
    try:
        return decode_text(files.read(name))
    except DataError as error:
        raise DataError(f"{shown(name) or 'The text'}: {error}") from error
