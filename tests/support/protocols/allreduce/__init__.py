"""Groups that average in a simulated network."""
