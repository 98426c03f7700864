"""A bucket of tokens that fills up again."""

from throttle.bucket import Bucket, pause

__all__ = ["Bucket", "pause"]
