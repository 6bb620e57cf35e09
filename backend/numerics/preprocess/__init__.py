"""Declared preprocessing as pure functions; docs/reference/preprocessing.md specifies it.

The TypeScript twins are in webapp/static/src/core/preprocessing/; tests/contract/vectors/preprocess/ tests
that both make the same values.
"""
