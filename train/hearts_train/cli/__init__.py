"""The command line ``hearts``: what each command reads, shows and saves."""
