"""Whether results of the same work unit agree, and within which tolerances.

Who is compared with whom is decided in `protocols.units`.
"""
