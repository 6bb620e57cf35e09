"""Describes the API in OpenAPI, from one table of parameters and responses, and from the routes."""
