"""One table of the server: its deals or match, undo, its agents' seeds, and its file."""
