"""Golden values of data: preprocessing, archives, shards, partitions and random numbers."""
