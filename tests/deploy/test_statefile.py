"""State files: the last good value survives whatever a crash leaves."""

from pathlib import Path

import pytest

from buildeye.deploy.processes.statefile import read_state, write_state


def test_a_value_comes_back_as_it_was_written(tmp_path: Path) -> None:
    value = {"code": 0, "name": "größe", "list": [1, None, True], "text": "a\nb"}
    write_state(tmp_path / "state.json", value)
    assert read_state(tmp_path / "state.json") == (value, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.json"]


def test_a_file_that_was_never_written_is_no_value_and_no_warning(tmp_path: Path) -> None:
    assert read_state(tmp_path / "state.json") == (None, None)


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.3, 0.5, 0.9, 0.99])
def test_a_torn_file_is_noticed_and_the_last_good_value_is_used(tmp_path: Path, kept: float) -> None:
    """Scenario 29."""
    path = tmp_path / "state.json"
    write_state(path, {"slot": 1})
    write_state(path, {"slot": 2})
    held = path.read_bytes()
    path.write_bytes(held[: int(len(held) * kept)])
    value, warning = read_state(path)
    assert value == {"slot": 1}
    assert warning is not None
    assert "torn" in warning
    assert str(path) in warning


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    """Scenario 29."""
    path = tmp_path / "state.json"
    write_state(path, {"slot": 1})
    write_state(path, {"slot": 2, "name": "x"})
    held = path.read_bytes()
    for at in range(len(held)):
        path.write_bytes(held[:at] + bytes([held[at] ^ 1]) + held[at + 1 :])
        assert read_state(path)[0] == {"slot": 1}, at


def test_a_torn_value_never_replaces_the_last_good_one(tmp_path: Path) -> None:
    """Scenario 29."""
    path = tmp_path / "state.json"
    write_state(path, {"slot": 1})
    write_state(path, {"slot": 2})
    path.write_bytes(b"{")
    write_state(path, {"slot": 3})
    path.write_bytes(b"")
    assert read_state(path)[0] == {"slot": 1}


def test_two_torn_files_are_a_warning_and_no_value(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"{")
    (tmp_path / "state.json.last").write_bytes(b"{")
    value, warning = read_state(path)
    assert value is None
    assert warning is not None


def test_a_lost_file_is_a_warning_when_a_value_from_before_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_state(path, {"slot": 1})
    write_state(path, {"slot": 2})
    path.unlink()
    value, warning = read_state(path)
    assert value == {"slot": 1}
    assert warning is not None
    assert "missing" in warning


def test_what_cannot_be_written_leaves_the_value_before_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_state(path, {"slot": 1})
    with pytest.raises(TypeError):
        write_state(path, {"slot": object()})
    assert read_state(path)[0] == {"slot": 1}
    with pytest.raises(FileNotFoundError):
        write_state(tmp_path / "nowhere" / "state.json", 1)
    assert not list(tmp_path.glob("*.tmp"))
