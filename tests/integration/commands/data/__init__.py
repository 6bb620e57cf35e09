"""Commands that cut data."""
