"""Books by title."""

ARTICLES = ("the", "a", "an")


def sort_key(title):
    """What a title is sorted by: small letters, without its article."""
    return title.lower()


def slug(title):
    """The title for an address: small letters, a `-` for everything between words."""
    return title.lower().replace(" ", "-")


class Catalogue:
    """Titles, each once."""

    def __init__(self):
        self.titles = []

    def add(self, title):
        """Put a title on the shelf."""
        self.titles.append(title)

    def listing(self):
        """All titles in their order."""
        return sorted(self.titles, key=sort_key)
