"""The round machine, driven by Hypothesis."""
