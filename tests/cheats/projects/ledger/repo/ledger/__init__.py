"""Amounts of money in cents."""
