"""Sums and means of the numbers on a command line."""
