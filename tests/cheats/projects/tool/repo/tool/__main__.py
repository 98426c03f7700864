"""`python -m tool --sum|--mean NUMBER …`: numbers on the command line, or on standard input."""

import sys

from tool.numbers import mean, total


def main(argv):
    """Print the result; the exit code is 2 if there is nothing to compute."""
    kind, words = argv[0], argv[1:] or sys.stdin.read().split()
    try:
        print(total(words) if kind == "--sum" else mean(words))
    except (ValueError, ZeroDivisionError) as error:
        print("tool: %s" % error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
