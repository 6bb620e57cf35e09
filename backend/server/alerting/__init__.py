"""How alerts leave the server: to a webhook, and by e-mail."""
