"""Benchmarks of work units: VC-ASGD, chaos, strangers, tolerances and parameter stores."""
