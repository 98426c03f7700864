"""Greetings in several languages."""

from greeter.core import greet, languages

__all__ = ["greet", "languages"]
