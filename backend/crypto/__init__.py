"""Cryptographic primitives of masked rounds, from maintained libraries: keys, keystreams, shares.

docs/reference/masked-rounds.md has the protocol; tests/contract/vectors/masked.json holds these and
their TypeScript twins (webapp/static/src/core/crypto/) to the same bytes. Random and secret values are
arguments: a host draws them from the system's generator. Errors and representations never show a secret.
"""
