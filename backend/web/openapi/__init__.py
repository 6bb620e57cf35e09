"""The API as OpenAPI: what it takes and answers stands in one table, the rest comes from the routes."""
