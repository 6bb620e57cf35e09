"""Makes padded rows exact: statistics, reductions and regularizers count real rows only."""
