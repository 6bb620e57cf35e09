"""A headless peer of work units: trains several concurrently, and fetches and sends others meanwhile."""
