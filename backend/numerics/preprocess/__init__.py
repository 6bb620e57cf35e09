"""Declared preprocessing, pure: docs/reference/preprocessing.md is its specification.

The TypeScript twins are in webapp/static/src/core/preprocessing/; tests/contract/vectors/preprocess/ holds
both to the same values.
"""
