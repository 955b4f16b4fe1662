"""The table in the browser: ``hearts serve``."""
