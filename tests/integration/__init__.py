"""Several parts together, without a browser: servers, peers, databases, commands, networks, Keras."""
