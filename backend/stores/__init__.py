"""Records and blobs: contracts and their implementations."""
