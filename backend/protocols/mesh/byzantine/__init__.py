"""A mesh that no liar spoils: BTARD (Gorbunov et al. 2022), on public data.

The last state says who may do what, and on which examples: nobody decides it.
"""
