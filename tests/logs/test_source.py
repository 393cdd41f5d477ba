"""Where log bytes come from: plain and packed files, standard input, archives, and everything that is none of these."""

import gzip
import io
import itertools
import os
import random
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.source import Block, LogFile, open_logs
from buildeye.model import UsageError

TEXT = "".join(f"2026-01-01T00:00:{n % 60:02}Z line {n} über\n" for n in range(5000)).encode()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return raw.getvalue()


def only(path: Path | str, **options: object) -> LogFile:
    logs = list(open_logs(str(path), **options))  # type: ignore[arg-type]  # options are passed on as they are
    assert len(logs) == 1
    return logs[0]


def content(log: LogFile) -> bytes:
    with log:
        return b"".join(block.data for block in log.blocks())


def refusal(path: Path | str, **options: object) -> str:
    with pytest.raises(UsageError) as caught:
        list(open_logs(str(path), **options))  # type: ignore[arg-type]  # options are passed on as they are
    message = str(caught.value)
    assert "\n" not in message
    return message


def packed(data: bytes) -> bytes:
    """The same bytes at any time, so that the ids of tests are."""
    return gzip.compress(data, 1, mtime=0)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": packed,
    "gzip of two members": lambda data: packed(data[:1000]) + packed(data[1000:]),
    "gzip padded with zeros": lambda data: packed(data) + bytes(512),
    "zstd": zstd,
    "zstd of two frames": lambda data: zstd(data[:1000]) + zstd(data[1000:]),
    "zstd with a skippable frame": lambda data: struct.pack("<LL", 0x184D2A51, 3) + b"abc" + zstd(data),
    "zstd without size or checksum": lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
    "UTF-16, little end first": lambda data: b"\xff\xfe" + data.decode().encode("utf-16-le"),
    "UTF-16, big end first": lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"),
    "gzip of UTF-16": lambda data: packed(data.decode().encode("utf-16")),
}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("way", ["file", "stdin"])
@pytest.mark.parametrize("data", [TEXT, b"x\n", b""], ids=["long", "short", "empty"])
def test_a_log_reads_the_same_however_it_is_packed(tmp_path: Path, packer: str, way: str, data: bytes) -> None:
    packed = PACKERS[packer](data)
    path = tmp_path / "misleading.txt"
    path.write_bytes(packed)
    log = only(path) if way == "file" else only("-", stdin=io.BytesIO(packed))
    assert (log.size, log.truncated) == (len(data), None)
    assert log.name == (str(path) if way == "file" else "-")
    assert log.read(5, 25) == data[5:25]
    assert log.read(-3, 2) == data[:2]
    assert log.read(len(data) - 1, len(data) + 100) == data[-1:]
    assert log.read(9, 3) == b""
    assert content(log) == data


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_highly_compressible_data_comes_out_whole(tmp_path: Path, packer: str) -> None:
    data = bytes(5_000_000) + b"\n"
    path = tmp_path / "log"
    path.write_bytes(PACKERS[packer](data))
    assert content(only(path)) == data


def test_a_utf8_byte_order_mark_is_left_in_place(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbfabc\n")
    assert content(only(path)) == b"\xef\xbb\xbfabc\n"


def test_a_broken_character_of_utf16_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"\xff\xfea\0\x00\xd8b\0c")
    assert content(only(path)).decode() == "a\ufffdb\ufffd"


def test_a_growing_file_is_read_up_to_its_size_at_opening_and_a_shrinking_one_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    log = only(path)
    with path.open("ab") as more:
        more.write(b"three\n")
    assert b"".join(block.data for block in log.blocks()) == b"one\ntwo\n"
    os.truncate(path, 4)
    assert content(log) == b"one\n"


def test_blocks_end_after_line_feeds(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\nbb\ncccccccccccc\nd\r\ne")
    with only(path) as log:
        assert list(log.blocks(6)) == [
            Block(0, False, b"a\nbb\n"),
            Block(5, False, b"cccccc"),
            Block(11, True, b"cccccc"),
            Block(17, True, b"\nd\r\ne"),
        ]


@given(st.lists(st.sampled_from([b"\n", b"a", b"bcd", b"\r\n", b"\r"]), max_size=60), st.integers(1, 12))
def test_blocks_are_the_whole_log_in_order_whatever_their_size(pieces: list[bytes], size: int) -> None:
    data = b"".join(pieces)
    blocks = list(only("-", stdin=io.BytesIO(data)).blocks(size))
    assert b"".join(block.data for block in blocks) == data
    for block, following in itertools.pairwise(blocks):
        assert b"\n" not in block.data or block.data.endswith(b"\n")
        assert following.continues is not block.data.endswith(b"\n")
    for block in blocks:
        assert 0 < len(block.data) <= size


JOBS = {"1_b.txt": b"B\n", "0_a b.txt": b"A\n", "10_c.txt": b"C\n"}
STEPS = {
    "job b/2_test.txt": b"2",
    "job b/10_post.txt": b"10\n",
    "job b/1_set up.txt": b"1\n",
    "job a/1_set up.txt": b"a\n",
    "job a/system.txt": b"no step\n",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (JOBS, [("a b", b"A\n"), ("b", b"B\n"), ("c", b"C\n")]),
        (JOBS | STEPS, [("a b", b"A\n"), ("b", b"B\n"), ("c", b"C\n")]),
        (STEPS, [("job a", b"a\n"), ("job b", b"1\n2\n10\n")]),
        ({"a/build.txt": b"x", "readme.md": b""}, [("a/build", b"x")]),
        ({"0_a\x1b[2J.txt": b"x"}, [("a?[2J", b"x")]),
        ({"0_wide.txt": "é\n".encode("utf-16")}, [("wide", "é\n".encode())]),
    ],
)
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_an_archive_holds_one_log_for_each_job(
    tmp_path: Path, files: dict[str, bytes], expected: list[tuple[str, bytes]], way: str
) -> None:
    packed = zipped(files)
    path = tmp_path / "logs"
    path.write_bytes(packed)
    name = str(path) if way == "file" else "-"
    logs = list(open_logs(name, stdin=io.BytesIO(packed)))
    assert [(log.name, content(log)) for log in logs] == [(f"{name}:{job}", data) for job, data in expected]


@pytest.mark.parametrize("packer", ["gzip", "zstd", "gzip of UTF-16"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_what_can_be_read_of_a_cut_off_log_is_used(tmp_path: Path, packer: str, share: float) -> None:
    rng = random.Random(5)
    text = "".join(f"{rng.random()}\n" for _ in range(30_000)).encode()
    packed = PACKERS[packer](text)
    path = tmp_path / "log"
    path.write_bytes(packed[: int(len(packed) * share)])
    log = only(path)
    assert log.truncated and "cut off" in log.truncated
    read = content(log)
    assert 0.1 * len(text) < len(read) < len(text)
    assert text.startswith(read.removesuffix("\ufffd".encode()))


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_what_can_be_read_of_a_damaged_log_is_used(tmp_path: Path, packer: str) -> None:
    packed = bytearray(PACKERS[packer](TEXT))
    packed[-6] ^= 255
    path = tmp_path / "log"
    path.write_bytes(packed)
    log = only(path)
    assert log.truncated and "damaged" in log.truncated
    assert TEXT.startswith(content(log))


def test_other_bytes_after_packed_data_are_told(tmp_path: Path) -> None:
    for pack in (packed, zstd):
        path = tmp_path / "log"
        path.write_bytes(pack(TEXT) + b"trailing words")
        log = only(path)
        assert log.truncated and "other bytes follow" in log.truncated
        assert content(log) == TEXT


def test_a_damaged_file_in_an_archive_gives_what_can_be_read(tmp_path: Path) -> None:
    packed = bytearray(zipped({"0_a.txt": TEXT, "1_b.txt": b"B\n"}, zipfile.ZIP_STORED))
    packed[packed.index(b"line 4000")] ^= 1
    path = tmp_path / "logs.zip"
    path.write_bytes(packed)
    first, second = open_logs(str(path))
    assert first.truncated == "0_a.txt in the zip is damaged" and second.truncated is None
    assert (content(first), content(second)) == (b"", b"B\n") or first.size > 0


def test_a_log_longer_than_the_limit_is_refused(tmp_path: Path) -> None:
    for packer, pack in PACKERS.items():
        path = tmp_path / "log"
        path.write_bytes(pack(TEXT))
        assert "more than 1000 bytes" in refusal(path, limit=1000), packer
    path.write_bytes(zipped({"0_a.txt": bytes(600), "1_b.txt": bytes(600)}))
    assert "more than 1000 bytes after decompression; cut it (head -c)" in refusal(path, limit=1000)
    with path.open("wb") as sparse:
        sparse.truncate(4 * 1024**3 + 1)
    assert "more than 4 GiB; cut it" in refusal(path)


def overlapping() -> bytes:
    """Two entries of the table of contents that name the same place."""
    packed = zipped({"0_a.txt": b"x" * 100, "1_b.txt": b"x" * 100})
    at = packed.rindex(b"PK\x01\x02")
    return packed[: at + 42] + struct.pack("<L", 0) + packed[at + 46 :]


def encrypted() -> bytes:
    packed = bytearray(zipped({"0_a.txt": b"x"}))
    packed[packed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)


def with_huge_directory() -> bytes:
    packed = bytearray(zipped({"0_a.txt": b"x"}))
    struct.pack_into("<L", packed, packed.index(b"PK\x05\x06") + 12, 1 << 30)
    return bytes(packed)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (zipped({}), "holds no .txt log"),
        (zipped({"a.zip": zipped({"0_a.txt": b"x"})}), "holds no .txt log"),
        (zipped(JOBS)[:-30], "cut off or damaged"),
        (b"PK\x03\x04 and nothing more", "cut off or damaged"),
        (zipped(JOBS, zipfile.ZIP_BZIP2), "other than deflate"),
        (zipped({"0_a.txt": bytes(110_000_000)}), "zip bomb"),
        (overlapping(), "zip bomb"),
        (encrypted(), "encrypted"),
        (with_huge_directory(), "too many files"),
        (packed(TEXT)[:12], "nothing readable"),
        (b"\x1f\x8bno gzip", "nothing readable"),
        (zstd(TEXT)[:7], "nothing readable"),
        (zstd(TEXT)[:4], "nothing readable"),
        (b"\x28\xb5\x2f\xfd\xff no zstd, really", "nothing readable"),
    ],
)
@pytest.mark.parametrize("way", ["file", "stdin"])
def test_what_is_no_log_is_refused_in_one_sentence(tmp_path: Path, data: bytes, reason: str, way: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    assert reason in refusal(path if way == "file" else "-", stdin=io.BytesIO(data))


def test_a_zstd_frame_that_wants_too_much_memory_is_refused(tmp_path: Path) -> None:
    settings = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    packer = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    packed = packer.compress(b"x" * 1000) + packer.flush()
    path = tmp_path / "log"
    path.write_bytes(packed)
    assert "pack it with zstd -19" in refusal(path)


def test_paths_that_are_no_readable_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    assert "no such file" in refusal(tmp_path / "missing")
    assert "is a directory" in refusal(tmp_path)
    assert "not a regular file; pipe it in" in refusal(tmp_path / "fifo")
    assert "not a regular file" in refusal("/dev/null")
    assert "cannot be opened" in refusal(tmp_path / "loop")
    assert "cannot be opened" in refusal("a\0b")
    assert "cannot be opened" in refusal("x" * 5000)
    assert refusal("no\n\x1b[2Jfile").startswith("no??[2Jfile: no such file")


def test_a_file_that_this_user_may_not_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("secret\n")
    path.chmod(0)
    script = (
        "import os, sys\nfrom buildeye.logs.source import open_logs\nfrom buildeye.model import UsageError\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
        "try: list(open_logs(sys.argv[1]))\nexcept UsageError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert "may not be read by this user" in done.stdout


def test_closing_twice_is_fine() -> None:
    log = only("-", stdin=io.BytesIO(b"x"))
    log.close()
    log.close()


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xff\xfe"]),
)
def test_no_input_makes_anything_but_a_log_or_a_sentence(data: bytes, magic: bytes) -> None:
    try:
        for log in open_logs("-", stdin=io.BytesIO(magic + data)):
            content(log)
    except UsageError as error:
        assert "\n" not in str(error)


@given(st.integers(0, 5000), st.integers(0, 255), st.sampled_from(["gzip", "zstd", "zip"]))
def test_no_damaged_byte_makes_anything_but_a_log_or_a_sentence(place: int, value: int, packer: str) -> None:
    packed = bytearray(zipped(JOBS | STEPS) if packer == "zip" else PACKERS[packer](TEXT[:4000]))
    packed[place % len(packed)] = value
    try:
        for log in open_logs("-", stdin=io.BytesIO(packed)):
            content(log)
    except UsageError as error:
        assert "\n" not in str(error)


PEAK = """
import sys
from buildeye.logs.source import open_logs
for log in open_logs(sys.argv[1], stdin=sys.stdin.buffer):
    with log:
        total = sum(len(block.data) for block in log.blocks())
        assert total == log.size == int(sys.argv[2]), (total, log.size)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""


def peak_of_child(name: str, size: int, stdin: Path | None = None) -> int:
    """Peak resident memory in MiB of a process that reads the log.

    The kernel's high-water mark of the process itself: ru_maxrss would start from that of the process that began it.
    """
    with (stdin or Path(os.devnull)).open("rb") as piped:
        command = [sys.executable, "-c", PEAK, name, str(size)]
        done = subprocess.run(command, stdin=piped, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read the peak memory from")
@pytest.mark.parametrize(
    ("way", "shape"),
    [
        ("plain", "300 MB of lines"),
        ("gzip", "300 MB of lines"),
        ("plain", "one line of 200 MB"),
        ("zstd", "one line of 200 MB"),
        ("stdin", "one line of 200 MB"),
        ("zip", "one line of 200 MB"),
        ("gzip", "just under the memory of the spool"),
        ("stdin", "just under the memory of the spool"),
    ],
)
def test_memory_stays_bounded(tmp_path: Path, way: str, shape: str) -> None:
    rng = random.Random(7)
    line = zlib.compress(rng.randbytes(500)).hex().encode()[:999]
    unit = (line + (b"x" if "one line" in shape else b"\n")) * 1000
    times = {"300 MB of lines": 300, "one line of 200 MB": 200}.get(shape, 67)
    path = tmp_path / "log"
    if way == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive, archive.open("0_a.txt", "w") as entry:
            for _ in range(times):
                entry.write(unit)
    else:
        pack = {"gzip": packed, "zstd": zstd}.get(way, bytes)
        member = pack(unit)
        with path.open("wb") as file:
            for _ in range(times):
                file.write(member)
    peak = peak_of_child("-" if way == "stdin" else str(path), times * len(unit), path if way == "stdin" else None)
    assert peak < 120
