"""What Keras itself computes: the zoo of small models, and how results are compared with it."""
