"""Headless client: session, TensorFlow trainer, evaluator."""
