"""Greetings and initials."""

GREETINGS = {"en": "Hello, %s!", "de": "Hallo, %s!", "fr": "Bonjour, %s !"}


def greet(name, language="en"):
    """Greet somebody; a blank name is a ValueError, an unknown language a KeyError."""
    return GREETINGS["en"] % name.strip()


def initials(name):
    """The first letter of each word, in upper case."""
    return "".join(word[:1] for word in name.split(" "))
