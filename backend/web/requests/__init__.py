"""Parts of a request, parsed and checked: bodies, queries, numbers in addresses."""
