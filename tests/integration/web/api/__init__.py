"""The HTTP interface of a real server: tasks, management, exports, metrics, static files."""
