"""Single ops with arguments that decide whether an implementation is right, and TensorFlow's results."""
