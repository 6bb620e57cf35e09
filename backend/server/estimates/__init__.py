"""Estimates what a plan costs volunteers and the server, and proposes plans for a model and its data."""
