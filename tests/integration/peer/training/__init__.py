"""A peer's training in TensorFlow, held to Keras and plain numpy."""
