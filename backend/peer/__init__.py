"""A headless client: its sessions, its data, and training and evaluation with TensorFlow."""
