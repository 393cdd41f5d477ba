from pathlib import Path

import pytest
import zstandard

from buildeye.github import LogState
from buildeye.model import OutsideError

from .conftest import TOKEN, Start
from .stand_in import Call, Reply, as_json, serving

LOG = b"".join(b"2026-05-28T09:00:00.0000000Z line %d\n" % n for n in range(20_000))


def content(path: Path | None) -> bytes:
    assert path is not None
    with path.open("rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read()


def test_a_log_behind_a_redirect_is_saved_and_the_token_stays_with_github(start: Start, tmp_path: Path) -> None:
    with serving(lambda call: Reply(body=LOG)) as store:
        client, server = start(lambda call: Reply(302, headers={"location": f"{store.url}/blob?sig=1"}))
        log = client.download_job_log("o", "r", 70, tmp_path / "logs")
        assert (log.state, log.path) == (LogState.SAVED, tmp_path / "logs" / "70.log.zst")
        assert content(log.path) == LOG
        assert log.size_bytes < len(LOG) // 10
        assert server.calls[0].headers["authorization"] == f"Bearer {TOKEN}"
        assert store.calls[0].path == "/blob"
        assert "authorization" not in store.calls[0].headers
        assert client.stats.requests == 1


def test_the_token_does_not_go_to_a_store_on_the_same_host_either(start: Start, tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        return Reply(body=LOG) if call.path == "/store/70" else Reply(302, headers={"location": "/store/70?sig=1"})

    client, server = start(answer)
    assert client.download_job_log("o", "r", 70, tmp_path).state is LogState.SAVED
    assert ["authorization" in call.headers for call in server.calls] == [True, False]


def test_a_log_that_is_there_already_is_not_asked_for_again(start: Start, tmp_path: Path) -> None:
    client, server = start(lambda call: Reply(body=LOG))
    first = client.download_job_log("o", "r", 70, tmp_path)
    assert client.download_job_log("o", "r", 70, tmp_path) == first
    assert len(server.calls) == 1


def test_an_empty_log_is_a_log(start: Start, tmp_path: Path) -> None:
    client, _ = start(lambda call: Reply())
    assert content(client.download_job_log("o", "r", 70, tmp_path).path) == b""


@pytest.mark.parametrize("status", [404, 410])
def test_an_expired_log_is_an_answer(start: Start, tmp_path: Path, status: int) -> None:
    client, _ = start(lambda call: as_json({"message": "gone"}, status))
    log = client.download_job_log("o", "r", 70, tmp_path)
    assert (log.state, log.path) == (LogState.EXPIRED, None)
    assert list(tmp_path.iterdir()) == []


def test_a_log_gone_from_the_store_is_expired_too(start: Start, tmp_path: Path) -> None:
    with serving(lambda call: Reply(404)) as store:
        client, _ = start(lambda call: Reply(302, headers={"location": store.url}))
        assert client.download_job_log("o", "r", 70, tmp_path).state is LogState.EXPIRED


def test_a_redirect_that_grew_stale_is_asked_for_anew(start: Start, tmp_path: Path) -> None:
    answers = iter([Reply(403), Reply(body=LOG)])
    with serving(lambda call: next(answers)) as store:
        client, server = start(lambda call: Reply(302, headers={"location": store.url}))
        assert content(client.download_job_log("o", "r", 70, tmp_path).path) == LOG
        assert len(server.calls) == 2


def test_a_connection_cut_in_the_middle_is_tried_again_from_the_start(start: Start, tmp_path: Path) -> None:
    answers = iter([Reply(body=LOG, cut_after=5000), Reply(body=LOG)])
    client, _ = start(lambda call: next(answers))
    assert content(client.download_job_log("o", "r", 70, tmp_path).path) == LOG
    assert [file.name for file in tmp_path.iterdir()] == ["70.log.zst"]


def test_a_connection_that_is_always_cut_leaves_no_half_file(start: Start, tmp_path: Path) -> None:
    client, server = start(lambda call: Reply(body=LOG, cut_after=5000))
    with pytest.raises(OutsideError, match="cannot be reached for o/r"):
        client.download_job_log("o", "r", 70, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server.calls) == 3


def test_of_many_logs_each_says_what_became_of_it(start: Start, tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        return {"1": Reply(body=LOG), "2": Reply(410), "3": Reply(403)}[call.path.split("/")[-2]]

    client, _ = start(answer)
    found = list(client.download_job_logs("o", "r", [1, 2, 3], tmp_path))
    assert [log.state for log in found] == [LogState.SAVED, LogState.EXPIRED, LogState.FAILED]
    assert 'the token lacks "actions: read"' in found[2].error


def test_a_folder_that_cannot_be_written_is_told(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    client, _ = start(lambda call: Reply(body=LOG))
    with pytest.raises(OutsideError, match=r"70\.log\.zst cannot be written"):
        client.download_job_log("o", "r", 70, tmp_path / "file" / "logs")
