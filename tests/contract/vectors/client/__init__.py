"""Golden conversations of clients: the participant of rounds and the client of work units."""
