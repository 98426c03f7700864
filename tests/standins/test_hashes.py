"""Keys from passwords; the vectors of RFC 6070 and RFC 7914, and lengths that no block has."""

import hashlib

import pytest


@pytest.mark.parametrize(
    ("name", "password", "salt", "iterations", "key"),
    [
        ("sha1", b"password", b"salt", 1, "0c60c80f961f0e71f3a9b524af6012062fe037a6"),
        ("sha1", b"password", b"salt", 4096, "4b007901b765489abead49d926f721d065a429c1"),
        ("sha1", b"pass\0word", b"sa\0lt", 4096, "56fa6aa75548099dcc37d7f03425e0c3"),
        (
            "sha256",
            b"passwd",
            b"salt",
            1,
            "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"
            "49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783",
        ),
    ],
)
def test_known_keys(name, password, salt, iterations, key):
    wanted = bytes.fromhex(key)
    assert hashlib.pbkdf2_hmac(name, password, salt, iterations, len(wanted)) == wanted


def test_long_passwords_and_other_buffers():
    long = b"p" * 200
    assert hashlib.pbkdf2_hmac("sha256", bytearray(long), b"salt", 2) == hashlib.pbkdf2_hmac(
        "sha256", hashlib.sha256(long).digest(), memoryview(b"salt"), 2
    )


def test_wrong_arguments():
    for arguments in (("sha256", b"", b"", 0), ("sha256", b"", b"", 1, 0), ("no-hash", b"", b"", 1)):
        with pytest.raises(ValueError):
            hashlib.pbkdf2_hmac(*arguments)
    for arguments in (("sha256", "text", b"", 1), (b"sha256", b"", b"", 1)):
        with pytest.raises(TypeError):
            hashlib.pbkdf2_hmac(*arguments)
