"""The results of leases: their uploads and commitments, until the scheduler has them."""
