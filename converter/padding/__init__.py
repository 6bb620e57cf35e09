"""Makes padded batches exact: statistics, reductions and regularizers count real rows only."""
