"""Runs the cases of the op suite in engines of the class `exact`, and compares the bits of their outputs."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from backend.peer.exact.worker_process import WorkerProcess
from tests.conformance.ops.expected import expected
from tests.conformance.ops.families import FAMILIES
from tests.support.browser.static_site import serve
from tests.support.exact.engines import Browser
from tests.support.keras.reference_cache import build_harness
from tests.support.timeouts import LONG

Case = Mapping[str, Any]
# By the family of cases, for each case its outputs, or the sentence of what went wrong.
Answers = dict[str, list[Any]]
THREADS = 3


class NoBlobs:
    """The files of a worker that needs none."""

    async def get(self, sha256: str, at_most: int = 0) -> bytes:
        raise ValueError(f"Nobody has {sha256} of {at_most} bytes.")


def compare(browsers: Mapping[str, Browser], nodes: Mapping[str, Path | None]) -> dict[str, Any]:
    """Runs all cases everywhere; returns their number, and the cases whose outputs are not the same."""
    cases = expected(tuple(FAMILIES))
    with serve({"/harness/": build_harness()}) as origin:
        answers = {name: in_browser(browser, origin, cases) for name, browser in browsers.items()}
    for name, node in nodes.items():
        answers[name] = asyncio.run(in_node(node, cases))
    different = find_differences(cases, list(answers.values()))
    return {
        "op_engines": list(answers),
        "op_cases": sum(map(len, cases.values())),
        "op_differences": len(different),
        "different_ops": different,
    }


def find_differences(cases: Mapping[str, Sequence[Case]], engines: Sequence[Answers]) -> list[str]:
    """Returns the labels of the cases that some engine cannot run, or for which two engines' bits differ."""
    found = []
    for family, those in cases.items():
        for case, *answers in zip(those, *(one[family] for one in engines), strict=True):
            if any(isinstance(one, str) for one in answers) or len(set(map(_bits, answers))) > 1:
                found.append(str(case["label"]))
    return found


def in_browser(
    browser: Browser, origin: str, cases: Mapping[str, Sequence[Case]], backend: str = "exact"
) -> Answers:
    """Returns the answers of a page of the harness."""
    tab = browser.open(f"{origin}/harness/index.html")
    script = "([method, argument]) => window.call(method, argument)"
    answers = {f: tab.evaluate(script, ["runOps", _work(those, backend)], LONG) for f, those in cases.items()}
    tab.close()
    return answers


async def in_node(node: Path | None, cases: Mapping[str, Sequence[Case]]) -> Answers:
    """Returns the answers of the harness' worker in Node.js."""
    harness = build_harness()
    entry = json.loads((harness / "manifest.json").read_bytes())["headless.ts"]["file"]
    worker = WorkerProcess(NoBlobs(), node, harness / entry)
    await worker.start()
    answers = {}
    for family, those in cases.items():
        answer = await worker.ask({"method": "runOps", "argument": _work(those, "exact")})
        if "error" in answer:
            raise RuntimeError(answer["error"])
        answers[family] = answer["result"]
    await worker.close()
    return answers


def _work(cases: Sequence[Case], backend: str) -> dict[str, Any]:
    parts = ("topology", "constants", "inputs", "outputs")
    sent = [{part: case[part] for part in parts} for case in cases]
    return {"cases": sent, "backend": backend, "wasm": {"simd": True, "threads": THREADS}}


def _bits(answer: list[dict[str, Any]]) -> Hashable:
    """Returns what is equal for equal outputs. The standard leaves sign and payload of NaN to engines."""
    outputs = []
    for output in answer:
        values = np.frombuffer(base64.b64decode(output["data"]), output["dtype"]).copy()
        if values.dtype == np.float32:
            values[np.isnan(values)] = np.nan
        outputs.append((tuple(output["shape"]), output["dtype"], values.tobytes()))
    return tuple(outputs)
