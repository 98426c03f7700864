from shelf import slug


def test_words():
    assert slug("Emma") == "emma"


def test_punctuation():
    assert slug("A Room of One's Own") == "a-room-of-one-s-own"


def test_ends():
    assert slug(" Who? ") == "who"
