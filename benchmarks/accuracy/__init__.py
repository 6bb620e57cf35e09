"""Benchmarks of accuracy: compare federated training with Keras' own `fit` at equal samples."""
