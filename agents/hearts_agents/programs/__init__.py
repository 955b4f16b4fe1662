"""Players that are programs of any language: ``exec:COMMAND``, the protocol and the processes."""
