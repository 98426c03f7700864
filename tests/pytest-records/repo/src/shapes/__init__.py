"""The project under test."""


def area(width, height):
    return width * height
