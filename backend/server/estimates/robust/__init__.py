"""Proposes a robust rule, or masked groups, for the expected participants of a draft's rounds.

Tolerances come from the rules themselves (backend/numerics/aggregators); only what was measured stands here.
"""
