from checking import check_order, check_sorted

from shelf import Catalogue


def test_empty():
    assert Catalogue().listing() == []


def test_articles_do_not_count(catalogue):
    check_order(catalogue.listing(), ["Emma", "Middlemarch", "A Room of One's Own", "The Trial"])


def test_listing_is_sorted(catalogue):
    check_sorted(catalogue.listing())


def test_a_title_is_there_once(catalogue):
    catalogue.add("Emma")
    assert catalogue.listing().count("Emma") == 1
