"""Greetings in some languages."""

__version__ = "1.4.0"
