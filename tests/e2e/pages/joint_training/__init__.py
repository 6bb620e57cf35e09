"""Trainings in which browsers and peers take part together."""
