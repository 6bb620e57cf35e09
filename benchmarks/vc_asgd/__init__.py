"""VC-ASGD's experiments: by real processes, at the paper's shape, and on virtual time."""
