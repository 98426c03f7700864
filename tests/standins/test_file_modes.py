"""Permission bits. All of it holds on Linux for user 0, too."""

import os
import shutil
import stat
import tarfile
import tempfile

import pytest


def bits(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_new_files_and_folders(tmp_path):
    (tmp_path / "file").write_text("")
    os.makedirs(tmp_path / "a" / "b")
    os.symlink("file", tmp_path / "link")
    assert bits(tmp_path / "file") == 0o644
    assert bits(tmp_path / "a" / "b") == 0o755
    assert stat.S_IMODE(os.lstat(tmp_path / "link").st_mode) == 0o777
    assert bits(tmp_path / "link") == 0o644


def test_private_files():
    descriptor, name = tempfile.mkstemp()
    assert bits(name) == 0o600
    os.fchmod(descriptor, 0o640)
    os.close(descriptor)
    assert bits(name) == 0o640
    assert bits(tempfile.mkdtemp()) == 0o700


def test_umask(tmp_path):
    before = os.umask(0o027)
    try:
        os.close(os.open(tmp_path / "file", os.O_CREAT | os.O_WRONLY, 0o666))
        os.mkdir(tmp_path / "folder")
    finally:
        os.umask(before)
    assert bits(tmp_path / "file") == 0o640
    assert bits(tmp_path / "folder") == 0o750


def test_bits_follow_the_file(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    file.chmod(0o755)
    os.link(file, tmp_path / "other")
    os.replace(file, tmp_path / "renamed")
    assert bits(tmp_path / "renamed") == bits(tmp_path / "other") == 0o755
    (tmp_path / "renamed").unlink()
    assert bits(tmp_path / "other") == 0o755
    (tmp_path / "other").unlink()
    file.write_text("")
    assert bits(file) == 0o644


def test_copies(tmp_path):
    (tmp_path / "tree").mkdir()
    program = tmp_path / "tree" / "program"
    program.write_text("")
    program.chmod(0o750)
    shutil.copytree(tmp_path / "tree", tmp_path / "copy")
    assert bits(tmp_path / "copy" / "program") == 0o750
    with tarfile.open(tmp_path / "archive.tar", "w") as archive:
        archive.add(tmp_path / "copy", "copy")
    with tarfile.open(tmp_path / "archive.tar") as archive:
        assert archive.getmember("copy/program").mode == 0o750
        archive.extractall(tmp_path / "out", filter="fully_trusted")
    assert bits(tmp_path / "out" / "copy" / "program") == 0o750
    shutil.rmtree(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_entries_of_folders(tmp_path):
    (tmp_path / "file").write_text("text")
    (tmp_path / "file").chmod(0o600)
    with os.scandir(tmp_path) as entries:
        (entry,) = entries
    assert isinstance(entry, os.DirEntry)
    assert repr(entry) == "<DirEntry 'file'>"
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert entry.stat().st_size == 4
    assert entry.is_file() and not entry.is_dir() and not entry.is_symlink()
    assert os.fspath(entry) == str(tmp_path / "file")
    assert [type(path) for path, _, _ in os.walk(os.fsencode(tmp_path))] == [bytes]


def test_only_executable_files_are_programs(tmp_path):
    program = tmp_path / "program"
    program.write_text("")
    assert os.access(program, os.R_OK | os.W_OK)
    assert not os.access(program, os.X_OK)
    assert shutil.which("program", path=str(tmp_path)) is None
    program.chmod(0o755)
    assert os.access(program, os.X_OK) and os.access(tmp_path, os.X_OK)
    assert shutil.which("program", path=str(tmp_path)) == str(program)
    assert not os.access(tmp_path / "none", os.X_OK)


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        os.chmod(tmp_path / "none", 0o600)
    with pytest.raises(FileNotFoundError):
        os.chown(tmp_path / "none", 0, 0)
    os.chown(tmp_path, -1, -1)
    os.chown(tmp_path, 0, 0)
