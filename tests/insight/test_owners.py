"""CODEOWNERS is read as GitHub's documentation says it reads it."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.insight.caseids import path_of
from buildeye.insight.owners import Owners, owners_in, read_owners
from buildeye.model import UsageError


def owned(pattern: str, path: str) -> bool:
    return bool(read_owners([f"{pattern} @who"]).of(path))


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*", "a.py", True),
        ("*", "deep/down/a.py", True),
        ("*.js", "a.js", True),
        ("*.js", "web/src/a.js", True),
        ("*.js", "web/a.jsx", False),
        ("*.js", "web/a.js/inner.txt", True),
        ("/build/logs/", "build/logs/a.log", True),
        ("/build/logs/", "build/logs/old/a.log", True),
        ("/build/logs/", "other/build/logs/a.log", False),
        ("/build/logs/", "build/logs", False),
        ("docs/*", "docs/getting-started.md", True),
        ("docs/*", "docs/build-app/troubleshooting.md", False),
        ("docs/*", "other/docs/a.md", False),
        ("apps/", "apps/a.py", True),
        ("apps/", "services/apps/deep/a.py", True),
        ("apps/", "services/apps", False),
        ("/docs/", "docs/a.md", True),
        ("/docs/", "web/docs/a.md", False),
        ("/scripts/", "scripts/deep/a.sh", True),
        ("**/logs", "build/logs/a.log", True),
        ("**/logs", "deeply/nested/logs/b.log", True),
        ("**/logs", "logs/a", True),
        ("**/logs", "catalogs/a", False),
        ("/apps/github", "apps/github/a.py", True),
        ("/apps/github", "apps/github", True),
        ("/apps/github", "apps/github2/a.py", False),
        ("src/**/test", "src/test/a", True),
        ("src/**/test", "src/a/b/test/c", True),
        ("src/**/test", "src/latest/c", False),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("/*", "a.py", True),
        ("/*", "deep/a.py", False),
        ("test_*.py", "tests/test_a.py", True),
        ("tests/test_?.py", "tests/test_a.py", True),
        ("tests/test_?.py", "tests/test_ab.py", False),
        ("tests/test_?.py", "tests/test_/.py", False),
        (r"my\ folder/", "my folder/a.py", True),
        ("a.c", "abc", False),
        ("a+b/(c)", "a+b/(c)", True),
        ("README", "docs/README", True),
        ("readme", "README", False),
        ("**", "any/where", True),
    ],
)
def test_a_pattern_means_the_paths_that_github_says(pattern: str, path: str, fits: bool) -> None:
    assert owned(pattern, path) is fits


LINES = """
# the rest
*            @everyone
*.js         @web   # trailing words are a comment
/docs/       docs@example.test @octo/docs-team
/apps/       @octocat
/apps/github
/apps/github/keep.py @doctocat
""".splitlines()


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("a.py", ("@everyone",)),
        ("a.js", ("@web",)),
        ("docs/a.md", ("docs@example.test", "@octo/docs-team")),
        ("apps/a.js", ("@octocat",)),
        ("apps/github/a.py", ()),
        ("apps/github/keep.py", ("@doctocat",)),
        ("./apps/a.py", ("@octocat",)),
        ("/apps/a.py", ("@octocat",)),
    ],
)
def test_the_last_line_that_fits_counts_and_one_without_owners_takes_them_away(
    path: str, owners: tuple[str, ...]
) -> None:
    assert read_owners(LINES).of(path) == owners


@pytest.mark.parametrize(
    "line", ["!docs/ @who", r"\#file @who", "src/[ab]/ @who", "[Section]", "docs/ who", "docs/ @who nobody here"]
)
def test_a_line_that_github_does_not_understand_is_passed_over_and_named(line: str) -> None:
    read = read_owners(["* @everyone", line])
    assert read.ignored == (2,)
    assert read.of("docs/a.md") == ("@everyone",)


@pytest.mark.parametrize("line", ["", "   ", "# only words", "\t# @who"])
def test_empty_lines_and_comments_are_no_rules(line: str) -> None:
    assert read_owners([line]) == Owners()


@pytest.mark.parametrize("place", [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"])
def test_the_file_is_found_where_github_looks(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("* @here\n")
    assert owners_in(tmp_path).of("a") == ("@here",)


def test_the_first_place_wins_a_named_file_wins_over_all_and_none_owns_nothing(tmp_path: Path) -> None:
    assert owners_in(tmp_path) == Owners()
    for place in (".github/CODEOWNERS", "CODEOWNERS", "other"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(f"* @{place[:5].strip('.')}\n")
    assert owners_in(tmp_path).of("a") == ("@gith",)
    assert owners_in(tmp_path, tmp_path / "other").of("a") == ("@other",)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read"), (b"\xff\xfe", "UTF-8"), (b"#" * 3_200_000, "larger")]
)
def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "owners"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        owners_in(tmp_path, file)


@settings(deadline=None)
@given(st.text(alphabet="a*?/.\\ b", max_size=40), st.text(alphabet="ab/.", max_size=60))
def test_no_pattern_breaks_the_reader(pattern: str, path: str) -> None:
    assert isinstance(read_owners([f"{pattern} @who"]).of(path), tuple)


@pytest.mark.parametrize(
    ("file", "classname", "folder", "path"),
    [
        ("tests/test_a.py", "tests.test_a", "", "tests/test_a.py"),
        ("lazy/test_a.py", "TestA", "test", "test/lazy/test_a.py"),
        ("test/lazy/test_a.py", "TestA", "test/", "test/lazy/test_a.py"),
        ("./tests/test_a.py", "", "", "tests/test_a.py"),
        ("", "tests.test_a.TestB", "", "tests/test_a/TestB"),
    ],
)
def test_a_test_lies_below_the_folder_that_reports_leave_out(file: str, classname: str, folder: str, path: str) -> None:
    assert path_of(file, classname, folder) == path
