"""Refuses models that no bundle can hold, before and after they are traced."""
