"""What `greet` has to do, and names and languages to try it on."""

GREETINGS = {"en": "Hello, %s!", "de": "Hallo, %s!", "fr": "Bonjour, %s !"}


def generate(random, index):
    """The arguments of one call."""
    name = "".join(random.choice("abcdefgh ") for _ in range(random.randrange(1, 9)))
    return [name, random.choice(["en", "de", "fr", "tlh"])]


def greet(name, language="en"):
    """The trusted version."""
    if not name.strip():
        raise ValueError("a blank name")
    return GREETINGS[language] % name.strip()
