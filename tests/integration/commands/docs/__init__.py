"""The command that builds the documentation."""
