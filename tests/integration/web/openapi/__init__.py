"""The description of the API, explored by schemathesis."""
