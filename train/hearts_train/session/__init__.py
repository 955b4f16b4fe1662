"""One table: its deals or match, what is taken back, its agents' seeds, and its file.

The terminal and the server both play on a `Table`; what a person sees of it is theirs to say.
"""
