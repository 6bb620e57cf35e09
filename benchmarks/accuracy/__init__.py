"""Benchmarks of accuracy: federated training beside Keras' own `fit` at equal samples."""
