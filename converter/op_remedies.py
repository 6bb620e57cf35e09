"""Says what to use instead of ops and dtypes that are not on the allow-list."""

from __future__ import annotations

import re

_PYTHON = "it runs Python between ops, which no browser can; write it with keras.ops"
_LOOP = "it loops, which no bundle can; write the steps out in a Python `for` over a fixed number of steps"
_MATRICES = (
    "no browser solves or decomposes matrices; do that when you write the shards, or use matmul, einsum"
)
_FOURIER = "it needs a Fourier transform; multiply by its matrix, or store spectra in the shards"
_TEXT = "it works on text; turn text into numbers when you write the shards"
_RANDOM = "it draws its own random numbers; use keras.random.uniform or normal, or Dropout and GaussianNoise"
_FILES = "it reads or writes files; do that when you write the shards"
_OTHERS = "write that part with other layers or functions of keras.ops (docs/reference/ops.md lists the ops)"

_FAMILIES = (
    (r"(Eager)?PyFunc(Stateless)?", _PYTHON),
    (r"(Stateless)?While|(Ref)?(Enter|Exit|NextIteration)|LoopCond|TensorList\w*|TensorArray\w*", _LOOP),
    (r"Matrix(Inverse|Solve|SolveLs|TriangularSolve|Determinant|Logarithm|Exponential|SquareRoot)"
     r"|Log(Matrix)?Determinant|Cholesky\w*|SelfAdjointEig\w*|Eig|Svd|Qr|Lu|Batch(Matrix|Svd|Cholesky)\w*",
     _MATRICES),
    (r"I?R?FFT\w*|Complex|ComplexAbs|Real|Imag|Conj|Angle", _FOURIER),
    (r"\w*String\w*|AsString|Regex\w*|Static\w*Regex\w*|Unicode\w*|\w*HashTable\w*|LookupTable\w*", _TEXT),
    (r"(Stateless)?Random\w+|(Stateless)?Multinomial|(Stateless)?TruncatedNormal\w*", _RANDOM),
    (r"(Read|Write)File|MatchingFiles|(Save|Restore)\w*", _FILES),
)  # fmt: skip


def remedy_of_op(op: str) -> str:
    """Returns why no bundle holds an op that is not on the list, and what to do instead."""
    for pattern, remedy in _FAMILIES:
        if re.fullmatch(pattern, op):
            return remedy
    return _OTHERS


def remedy_of_dtype(dtype: str) -> str:
    """Returns what to do instead of computing in `dtype`."""
    if dtype in ("float16", "bfloat16", "float64"):
        return 'bundles compute with float32; cast to "float32", or leave the dtype out'
    if dtype.startswith("complex"):
        return "bundles have no complex numbers; compute the real and the imaginary part by themselves"
    if dtype == "string":
        return _TEXT
    if dtype == "resource":
        return "that is a variable or a table of TensorFlow; use self.add_weight() of the layer"
    return 'bundles have integers of 32 and 64 bits; cast to "int32"'
