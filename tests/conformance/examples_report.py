"""Architectures of Keras' code examples, converted: `python -m tests.conformance.examples_report`.

Without arguments it writes docs/reference/keras-examples.md; areas, or `AREA:EXAMPLE`, choose some, and then
it only prints. Exit code 1 if an example is refused without its place in REFUSED, or neither equal nor
refused.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.keras.reference_cache import ROOT, run_module

TABLE = ROOT / "docs" / "reference" / "keras-examples.md"
MODULE = "tests.conformance.code_examples.conversion"
AREAS = ("vision", "text", "timeseries", "recommender", "generative")
TRAIN_STEP, COMPUTE_LOSS = "has its own train_step", "has its own compute_loss"
CTC, TEXT, HASH = "ctc is computed in a loop", "turns text into numbers", "hashes its input"
# An example that must be refused, and what the sentence says.
REFUSED = {
    "zero_dce": TRAIN_STEP,
    "metric_learning": TRAIN_STEP,
    "simsiam": TRAIN_STEP,
    "supervised_contrastive_learning": "mixes the examples of a batch",
    "knowledge_distillation": COMPUTE_LOSS,
    "gradient_centralization": "is a custom CenteredRMSprop",
    "captcha_ocr": "compiled without a loss",
    "handwriting_recognition": CTC,
    "text_classification_from_scratch (end to end)": TEXT,
    "fnet_classification_with_keras_hub": "needs a Fourier transform",
    "end_to_end_mlm_with_bert": TRAIN_STEP,
    "nl_image_search": TRAIN_STEP,
    "ctc_asr": CTC,
    "transformer_asr": TRAIN_STEP,
    "stft (MelSpectrogram)": "needs a Fourier transform",
    "keras_rs two-tower (retrieval)": TRAIN_STEP,
    "structured_data_classification (hashing)": HASH,
    "structured_data_classification (lookup)": TEXT,
    "vae": TRAIN_STEP,
    "dcgan_overriding_train_step": TRAIN_STEP,
    "wgan_gp": TRAIN_STEP,
    "conditional_gan": TRAIN_STEP,
    "cyclegan": TRAIN_STEP,
    "ddpm": TRAIN_STEP,
    "ddim": TRAIN_STEP,
    "neural_style_transfer": "has no trainable variables",
    "vq_vae": TRAIN_STEP,
    "real_nvp": TRAIN_STEP,
}

HEAD = """# Keras' code examples

Written by `make conformance`. The architectures of [Keras' code examples](https://keras.io/examples/),
written again at a small size (`tests/conformance/code_examples`), saved by Keras and converted. Where an
example has several, brackets name one. The converter trains each bundle beside Keras: `difference` is the
worst relative error of outputs, loss, metrics, gradients and steps. It is at most 1e-4, or ten times what
Keras' own numbers move by rounding. `own code` says that the example brings layers or losses of its own, by
`--custom`.

{equal} of {count} are equal to Keras, {refused} are refused. Five whole examples, with their task files, are
in [Keras' own examples as tasks](../how-to/keras-examples.md).

"""


def measured(words: Sequence[str] = AREAS) -> list[dict[str, Any]]:
    """What becomes of examples: areas, or `AREA:EXAMPLE`; each area in a process of its own."""
    areas = [[word] for word in words if word in AREAS]
    single = [word for word in words if word not in AREAS]
    printed = [run_module(MODULE, *part) for part in [*areas, single] if part]
    return [json.loads(line) for text in printed for line in text.splitlines() if line.startswith("{")]


def fault(result: Mapping[str, Any]) -> str | None:
    """What is wrong with the result of an example; None where it is equal, or refused as it must be."""
    name, wanted = result["example"], REFUSED.get(result["example"])
    if "failed" in result:
        return f"{name} is neither equal nor refused: {result['failed']}"
    if "refused" in result:
        right = wanted is not None and re.search(wanted, result["refused"])
        return None if right else f"{name} is refused: {result['refused']}"
    return None if wanted is None else f"{name} is no longer refused"


def markdown(results: Sequence[Mapping[str, Any]]) -> str:
    """The page of the documentation."""
    refused = [result for result in results if "refused" in result]
    head = HEAD.format(equal=len(results) - len(refused), count=len(results), refused=len(refused))
    lines = ["| example | area | difference | own code |", "|---|---|---|---|"]
    lines += [
        f"| {r['example']} | {r['area']} | {r['worst']:.0e} | {'yes' if r['own'] else ''} |"
        for r in results
        if "worst" in r
    ]
    lines += ["", "## Refused", "", "| example | area | the sentence |", "|---|---|---|"]
    lines += [f"| {r['example']} | {r['area']} | {r['refused'].replace('|', '/')} |" for r in refused]
    return head + "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="The architectures of Keras' code examples.")
    parser.add_argument("words", nargs="*", help="areas, or AREA:EXAMPLE; all areas if none is named")
    words = parser.parse_args().words
    results = []
    for part in [words] if words else [[area] for area in AREAS]:
        told = measured(part)
        print("\n".join(json.dumps(result) for result in told), flush=True)
        results += told
    wrong = [sentence for result in results if (sentence := fault(result)) is not None]
    if not words and not any("failed" in result for result in results):
        TABLE.write_text(markdown(results), "utf-8")
    print("\n".join(wrong) or "All examples equal Keras, or are refused as they must be.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
