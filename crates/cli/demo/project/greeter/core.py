"""One greeting for each language."""

GREETINGS = {"en": "Hi", "de": "Hallo", "fr": "Salut"}


def languages() -> list[str]:
    """The languages that have a greeting, sorted."""
    return sorted(GREETINGS)


def greet(name: str, language: str = "en") -> str:
    """Greet somebody by name."""
    return f"{GREETINGS['en']}, {name}!"
