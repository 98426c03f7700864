"""Addresses that need no look-up, and names that nobody knows."""

import socket

import pytest


def test_numeric_addresses():
    (found,) = socket.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)
    assert found == (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))
    (found,) = socket.getaddrinfo("::1", "443", proto=17)
    assert found == (socket.AF_INET6, socket.SOCK_DGRAM, 17, "", ("::1", 443, 0, 0))


def test_a_port_that_is_no_service():
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("127.0.0.1", "no-such-service")


def test_a_name_that_cannot_exist():
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("name.invalid", 80)
