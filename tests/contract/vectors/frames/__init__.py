"""Golden frames of the wire protocols, good and bad."""
