"""A shelf of books."""

from shelf.catalogue import Catalogue, slug, sort_key

__all__ = ["Catalogue", "slug", "sort_key"]
