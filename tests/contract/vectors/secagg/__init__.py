"""Golden values of secure aggregation: keys, masks, encodings, noise and conversations."""
