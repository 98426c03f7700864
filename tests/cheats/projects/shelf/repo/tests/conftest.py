import pytest

from shelf import Catalogue


@pytest.fixture
def catalogue():
    made = Catalogue()
    for title in ["The Trial", "Middlemarch", "A Room of One's Own", "Emma"]:
        made.add(title)
    return made
