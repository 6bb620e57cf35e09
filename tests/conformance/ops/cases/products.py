"""Products of matrices and Einstein sums."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.conformance.ops.case import Case, floats

SIZES = ((1, 1, 1), (3, 5, 4), (1, 7, 3), (7, 1, 3), (3, 7, 1), (17, 16, 33), (4, 300, 5), (64, 8, 64))
BATCHES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((), ()),
    ((2,), (2,)),
    ((2,), (1,)),
    ((1,), (3,)),
    ((3,), ()),
    ((), (3,)),
    ((2, 3), (2, 3)),
    ((2, 1), (1, 3)),
    ((2, 1), (2, 3)),
    ((2, 3), (2, 1)),
    ((2, 3), (3,)),
    ((2, 1, 2), (1, 3, 1)),
)

EQUATIONS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    # What Dense, EinsumDense, attention and their gradients emit.
    ("abc,cde->abde", ((2, 3, 4), (4, 2, 5))),
    ("aecd,abcd->acbe", ((2, 3, 2, 4), (2, 5, 2, 4))),
    ("acbe,aecd->abcd", ((2, 2, 5, 3), (2, 3, 2, 4))),
    ("abcd,cde->abe", ((2, 3, 2, 4), (2, 4, 5))),
    ("abe,cde->abcd", ((2, 3, 5), (2, 4, 5))),
    ("abcd,abe->cde", ((2, 3, 2, 4), (2, 3, 5))),
    ("abde,abc->cde", ((2, 3, 2, 5), (2, 3, 4))),
    ("abde,cde->abc", ((2, 3, 2, 5), (4, 2, 5))),
    ("acbe,abcd->aecd", ((2, 2, 5, 3), (2, 5, 2, 4))),
    ("abcd,aecd->acbe", ((2, 5, 2, 4), (2, 3, 2, 4))),
    ("BTNH,BSNH->BNTS", ((2, 3, 2, 4), (2, 5, 2, 4))),
    ("BNTS,BSNH->BTNH", ((2, 2, 3, 5), (2, 5, 2, 4))),
    ("BTKGH,BSKH->BKGTS", ((2, 3, 2, 2, 4), (2, 5, 2, 4))),
    ("BKGTS,BSKH->BTKGH", ((2, 2, 2, 3, 5), (2, 5, 2, 4))),
    ("abc,dc->abd", ((2, 3, 4), (5, 4))),
    ("abc,cd->abd", ((2, 3, 4), (4, 5))),
    ("abd,abc->cd", ((2, 3, 5), (2, 3, 4))),
    ("ab,bc->ac", ((3, 4), (4, 5))),
    ("ab,cb->ac", ((3, 4), (5, 4))),
    ("ba,bc->ca", ((4, 3), (4, 5))),
    ("ab,cb->a", ((2, 3), (4, 3))),
    ("ab,ab->a", ((3, 4), (3, 4))),
    ("ab,ab->", ((3, 4), (3, 4))),
    ("a,b->ab", ((3,), (4,))),
    ("a,b->ba", ((3,), (4,))),
    ("a,a->", ((5,), (5,))),
    ("ab,b->a", ((3, 4), (4,))),
    ("abc,abd->acd", ((2, 3, 4), (2, 3, 5))),
    ("abc,adc->abd", ((2, 3, 4), (2, 5, 4))),
    ("abcd,abde->abce", ((2, 2, 3, 4), (2, 2, 4, 5))),
    ("abc->ca", ((2, 3, 4),)),
    ("abc->cab", ((2, 3, 4),)),
    ("abc->", ((2, 3, 4),)),
    ("abcd->dbac", ((2, 3, 4, 5),)),
    ("...ab,bc->...ac", ((2, 3, 4), (4, 5))),
    ("...a,ab->...b", ((2, 3, 4), (4, 5))),
    ("...a,...a->...", ((2, 3, 4), (3, 4))),
    ("a...,ab->...b", ((4, 2, 3), (4, 5))),
)


def products() -> Iterator[Case]:
    for left, right in product((False, True), repeat=2):
        for m, k, n in SIZES:
            a, b = floats(*((k, m) if left else (m, k))), floats(*((n, k) if right else (k, n)))
            yield "MatMul", {"a": a, "b": b, "transpose_a": left, "transpose_b": right}
        for first, second in BATCHES:
            for m, k, n in ((3, 5, 4), (1, 4, 1), (5, 1, 2)):
                a = floats(*first, *((k, m) if left else (m, k)))
                b = floats(*second, *((n, k) if right else (k, n)))
                yield "BatchMatMulV2", {"x": a, "y": b, "adj_x": left, "adj_y": right}
    for left, right in product((False, True), repeat=2):
        a = floats(2, *((40, 33) if left else (33, 40)))
        b = floats(2, *((17, 40) if right else (40, 17)))
        yield "BatchMatMulV2", {"x": a, "y": b, "adj_x": left, "adj_y": right}


def einsums() -> Iterator[Case]:
    for equation, shapes in EQUATIONS:
        yield "Einsum", {"inputs": [floats(*shape) for shape in shapes], "equation": equation}


def biases() -> Iterator[Case]:
    for shape in ((4, 3), (1, 1), (2, 3, 4), (2, 3, 2, 5), (2, 1, 2, 3, 4), (3, 257)):
        yield "BiasAdd", {"value": floats(*shape), "bias": floats(shape[-1])}
        yield "BiasAddGrad", {"out_backprop": floats(*shape)}
    yield "BiasAddGrad", {"out_backprop": floats(300, 7)}


def fused() -> Iterator[Case]:
    for activation in ((), ("Relu",), ("Relu6",), ("Elu",)):
        attributes: dict[str, Any] = {"num_args": 1, "fused_ops": ["BiasAdd", *activation]}
        yield "_FusedMatMul", {"a": floats(3, 5), "b": floats(5, 4), "args": [floats(4)], **attributes}
        for padding in ("SAME", "VALID"):
            window = {"strides": [1, 1, 1, 1], "padding": padding}
            image, filters = floats(2, 6, 5, 3), floats(3, 3, 3, 4)
            inputs = {"input": image, "filter": filters, "args": [floats(4)]}
            yield "_FusedConv2D", {**inputs, **window, **attributes}
