"""Checks that the output of a preprocessing fits the inputs and labels of the model."""

from __future__ import annotations

from collections.abc import Sequence

from backend.errors import DataError
from backend.formats.manifest import InputSpec, LabelSpec, Manifest
from backend.numerics.preprocess.fitted import Arrays, ClassLabel, Fitted, FittedTable, FittedText, StoredSpec


def check_fits(fitted: Fitted, manifest: Manifest) -> None:
    """Raises DataError, with a correction, if shapes or numbers of classes and tokens differ."""
    _check_shapes("inputs", fitted.inputs, manifest.inputs)
    if fitted.labels and not manifest.labels and not isinstance(fitted, Arrays):
        raise DataError(
            "The preprocessing makes labels, and the model takes none. Store its inputs in an .npz file and "
            'declare { kind = "array", x = ["image"], y = [] } in [data.preprocess].'
        )
    _check_shapes("labels", fitted.labels, manifest.labels)
    for number, spec in enumerate(manifest.labels):
        made = _classes(fitted, number)
        if made is not None and spec.classes is not None and made[0] > spec.classes:
            raise DataError(
                f"The data have {made[0]} {made[1]} for '{spec.name}' where the model has {spec.classes}; "
                f"give the model {made[0]} outputs."
            )


def _check_shapes(what: str, made: Sequence[StoredSpec], taken: Sequence[InputSpec | LabelSpec]) -> None:
    names = ", ".join(spec.name for spec in taken) or "none"
    if len(made) != len(taken):
        raise DataError(
            f"The preprocessing makes {len(made)} {what} where the model takes {len(taken)} ({names}); "
            "declare as many in [data.preprocess], in that order."
        )
    for stored, spec in zip(made, taken, strict=True):
        if stored.shape != spec.shape:
            hint = ' Encoding "index" makes [], "number" [1], "one-hot" [classes].' * (what == "labels")
            raise DataError(
                f"The preprocessing makes {stored.shape} for '{spec.name}' "
                f"where the model takes {spec.shape}; change [data.preprocess] or the model.{hint}"
            )
        if stored.dtype == "float32" and spec.dtype == "int32":
            raise DataError(
                f"The preprocessing makes decimal numbers for '{spec.name}' where the model takes whole "
                'ones; use encoding = "index", or a model with float inputs.'
            )


def _classes(fitted: Fitted, number: int) -> tuple[int, str] | None:
    """Returns the number of values of a label, and their name: classes or tokens; None if unknown."""
    if isinstance(fitted, Arrays):
        return None
    if isinstance(fitted, FittedText) and fitted.label is None:
        return fitted.ids, "tokens"
    label = fitted.label[number] if isinstance(fitted, FittedTable) else fitted.label
    return (len(label.classes), "classes") if isinstance(label, ClassLabel) else None
