"""Evidence against single updates of a round, and suspicion that it adds up to over rounds.

Pure: who sent an update, and what follows for them, is decided in protocols/rounds/reputation_book.py.
"""
