"""What a recorded training would have cost on rented machines, and in energy."""
