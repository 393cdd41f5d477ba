"""Where reports are found, and what an archive of a stranger may not do."""

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from buildeye.model import UsageError
from buildeye.testresults import Limits, Report, reports_in
from buildeye.testresults.junit import CutOffError

XML = b"<testsuite><testcase name='a'/></testsuite>"
MIB = 1024 * 1024


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def names(path: Path, limits: Limits = Limits()) -> dict[str, tuple[str, int, str]]:  # noqa: B008 - frozen
    """Per name: folder, number of cases, trouble."""
    found = {}
    for file in reports_in(path, limits):
        report = Report(file.chunks())
        found[file.name] = (file.folder, len(list(report)), report.trouble)
    return found


def test_files_folders_gzip_and_archives_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / "unit").mkdir(parents=True)
    (folder / "unit" / "a.xml").write_bytes(XML)
    (folder / "notes.txt").write_bytes(XML)
    packed = tmp_path / "b.xml.gz"
    packed.write_bytes(gzip.compress(XML))
    zipped = archive(tmp_path / "c.zip", {"x/unit/c.xml": XML, "d.XML": XML, "e.txt": XML, "x\\f.xml": XML})
    assert names(folder) == {str(folder / "unit" / "a.xml"): ("unit", 1, "")}
    assert names(folder / "unit" / "a.xml") == {str(folder / "unit" / "a.xml"): ("unit", 1, "")}
    assert names(packed) == {str(packed): (tmp_path.name, 1, "")}
    assert names(zipped) == {"d.XML": ("", 1, ""), "x\\f.xml": ("x", 1, ""), "x/unit/c.xml": ("unit", 1, "")}


def test_a_place_where_nothing_is_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        list(reports_in(tmp_path / "none.xml"))


def test_a_member_that_unpacks_without_end_is_cut_at_the_limit_and_the_next_one_is_read(tmp_path: Path) -> None:
    bomb = b"<testsuite><testcase name='a'/><system-out>" + b"x" * (8 * MIB)
    found = names(archive(tmp_path / "z.zip", {"a.xml": bomb, "b.xml": XML}), Limits(report_bytes=MIB))
    assert found["a.xml"][1] == 1 and "larger than 1 MiB once unpacked" in found["a.xml"][2]
    assert found["b.xml"] == ("", 1, "")


def test_an_archive_that_unpacks_without_end_is_cut_at_the_limit_of_all(tmp_path: Path) -> None:
    big = b"<testsuite><system-out>" + b"x" * MIB + b"</system-out></testsuite>"
    path = archive(tmp_path / "z.zip", {f"{n}.xml": big for n in range(8)})
    read = 0
    with pytest.raises(CutOffError, match="larger than 3 MiB"):
        for file in reports_in(path, Limits(archive_bytes=3 * MIB)):
            assert list(Report(file.chunks())) == []
            read += 1
    assert read < 5


def test_an_archive_with_countless_entries_is_refused_before_they_are_listed(tmp_path: Path) -> None:
    path = archive(tmp_path / "z.zip", {f"{n:05}.xml": b"" for n in range(2000)})
    with pytest.raises(CutOffError, match="lists more files"):
        list(reports_in(path, Limits(directory_bytes=64 * 1024)))


@pytest.mark.parametrize("damage", ["truncated", "flipped", "encrypted", "nothing"])
def test_a_damaged_archive_is_a_sentence_and_no_traceback(tmp_path: Path, damage: str) -> None:
    path = archive(tmp_path / "z.zip", {"a.xml": XML, "b.xml": b"<testsuite>" + b"<testcase name='x'/>" * 99})
    data = bytearray(path.read_bytes())
    if damage == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        at = data.index(b"b.xml") + 12
        data[at : at + 8] = b"\xff" * 8
        path.write_bytes(data)
    elif damage == "encrypted":
        for mark, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            data[data.rindex(mark) + flag] |= 1
        path.write_bytes(data)
    else:
        path.write_bytes(b"PK\x03\x04")
    try:
        said = " ".join(trouble for _, _, trouble in names(path).values())
    except CutOffError as error:
        said = str(error)
    assert "damaged" in said


_MEASURE = """
import resource, sys
from pathlib import Path
from buildeye.testresults import Report, reports_in
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cases = 0
for file in reports_in(Path(sys.argv[1])):
    report = Report(file.chunks())
    cases += sum(1 for _ in report)
    assert not report.trouble, report.trouble
print(cases, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory_does_not_grow_with_a_report_of_hundreds_of_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "big.zip"
    line = b"x" * 1023 + b"\n"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("big.xml", "w", force_zip64=True) as member,
    ):
        member.write(b"<testsuite>")
        for number in range(3):
            member.write(b"<testcase name='t%d'><system-out>" % number + line * 32768 + b"</system-out>")
            member.write(b"<system-err><![CDATA[" + line * 32768 + b"]]></system-err>")
            member.write(b"<failure message='m'>" + line * 32768 + b"</failure></testcase>")
        for number in range(100_000):
            member.write(b"<testcase classname='k' name='n%d' time='0.1'/>" % number)
        member.write(b"</testsuite>")
    done = subprocess.run([sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, check=True)
    cases, mib = map(int, done.stdout.split())
    assert cases == 100_003
    assert mib < 64, "288 MiB of output and 100,000 cases"


def test_a_tag_without_end_does_not_fill_the_memory() -> None:
    def endless() -> "list[bytes]":
        return [b"<testsuite><testcase name='", *[b"x" * MIB] * 12]

    report = Report(endless())
    assert list(report) == []
    assert "a tag is longer than 8 MiB" in report.trouble
