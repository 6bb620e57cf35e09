"""The benchmark of a preemptible fleet runs, and refuses what is no trace or price."""
