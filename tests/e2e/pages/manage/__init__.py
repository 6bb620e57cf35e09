"""The owner's dashboard in a real browser."""
