"""Primitives of masked rounds, from well-kept libraries: keys, derivation, keystreams, shares.

docs/reference/masked-rounds.md has the protocol; tests/contract/vectors/masked.json holds these and
their TypeScript twins (webapp/static/src/core/crypto/) to the same bytes. Whatever is random or secret is
an argument: a host draws it from the system's generator. Errors and representations never say a secret.
"""
