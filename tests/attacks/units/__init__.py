"""Attacks on work units: by strangers, colluders, and honest workers' own kernels."""
