"""Claims a name of the standard library."""
