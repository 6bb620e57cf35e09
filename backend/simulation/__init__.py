"""A task on virtual time: the real host, machines, codec and stores with simulated clients and network."""
