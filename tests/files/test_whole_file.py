"""Files are written atomically; links are kept, and pipes and devices are written directly."""

import os
import stat
import tempfile
import threading
from pathlib import Path

import pytest

from pdrm.errors import CannotWrite
from pdrm.files import write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="links, pipes and users as on POSIX")


def test_new_and_old_files(tmp_path):
    file = tmp_path / "a"
    write_atomically(file, b"one")
    file.chmod(0o640)
    write_atomically(file, b"two")
    assert file.read_bytes() == b"two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


@posix
def test_a_link_is_kept_and_its_file_is_written(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    link, file = tmp_path / "link", folder / "file"
    link.symlink_to(Path("there") / "file")  # to nothing, at first
    for content in (b"one", b"two"):
        write_atomically(link, content)
        assert link.is_symlink()
        assert file.read_bytes() == content
    assert list(folder.iterdir()) == [file]


@posix
def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(pipe, b"through")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(10)
    assert found == [b"through"]


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(CannotWrite, match="directory"):
        write_atomically(tmp_path, b"x")
    with pytest.raises(CannotWrite):
        write_atomically(tmp_path / "none" / "a", b"x")
    assert not list(tmp_path.iterdir())


@posix
def test_a_read_only_file_is_not_replaced():
    with tempfile.TemporaryDirectory() as name:
        folder, file = Path(name), Path(name) / "kept"
        file.write_bytes(b"old")
        file.chmod(0o444)
        folder.chmod(0o777)
        user = os.geteuid()
        if user == 0:  # root may write everything: become somebody
            os.seteuid(65534)
        try:
            with pytest.raises(CannotWrite, match="permission denied"):
                write_atomically(file, b"new")
        finally:
            os.seteuid(user)
            folder.chmod(0o700)
        assert file.read_bytes() == b"old"
        assert list(folder.iterdir()) == [file]


def test_ctrl_c_leaves_no_temporary_file(tmp_path, monkeypatch):
    file = tmp_path / "a"
    write_atomically(file, b"old")

    def interrupted(_handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        os, "fsync", interrupted
    )  # the content is on the disk before it takes the old one's place
    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, b"new")
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == b"old"
