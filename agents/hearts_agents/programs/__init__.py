"""Players in processes of their own: programs (``exec:COMMAND``), and agents that are isolated."""
