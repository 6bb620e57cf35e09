"""Labs that attack a task of the person who runs them, to show what its settings protect.

They use the real trainer, masks and noise. No lab contacts a server.
"""
