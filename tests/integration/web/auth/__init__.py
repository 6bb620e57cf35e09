"""Sign-in, invitations and revocation at a real server."""
