"""A test is found by its id however the report that told it was written."""

import pytest

from buildeye.insight.caseids import case_id, file_in, fits, is_exact, module_of, names_in

PYTEST_OLD = ("tests/test_a.py", "tests.test_a.TestB", "test_c[1-x]")
PYTEST_NEW = ("", "tests.test_a.TestB", "test_c[1-x]")
FUNCTION = ("tests/test_a.py", "tests.test_a", "test_d")
UNITTEST = ("lazy/test_ts_opinfo.py", "TestLazyOpInfo", "test_dispatched_to_lazy")
JAVA = ("", "com.acme.FooTest", "adds")
GO = ("", "github.com/acme/x", "TestX/sub")
NESTED = ("sub/tests/test_a.py", "tests.test_a.TestB.TestInner", "test_e")


@pytest.mark.parametrize(
    ("case", "id"),
    [
        (PYTEST_OLD, "tests/test_a.py::TestB::test_c[1-x]"),
        (PYTEST_NEW, "tests.test_a.TestB::test_c[1-x]"),
        (FUNCTION, "tests/test_a.py::test_d"),
        (UNITTEST, "lazy/test_ts_opinfo.py::TestLazyOpInfo::test_dispatched_to_lazy"),
        (JAVA, "com.acme.FooTest::adds"),
        (GO, "github.com/acme/x::TestX/sub"),
        (NESTED, "sub/tests/test_a.py::TestB::TestInner::test_e"),
        (("", "", "alone"), "alone"),
    ],
)
def test_an_id_is_made_of_what_the_report_says(case: tuple[str, str, str], id: str) -> None:
    assert case_id(*case) == id
    assert is_exact(id, *case) and fits(id, *case)
    assert case[2] in names_in(id)


@pytest.mark.parametrize(
    ("asked", "case", "fit", "exact"),
    [
        ("tests/test_a.py::TestB::test_c[1-x]", PYTEST_NEW, True, True),
        ("tests/test_b.py::TestB::test_c[1-x]", PYTEST_NEW, False, False),
        ("tests/test_a.py::test_c[1-x]", PYTEST_NEW, False, False),
        ("tests/test_a.py::test_d", ("", "tests.test_a", "test_d"), True, True),
        ("TestB::test_c[1-x]", PYTEST_OLD, True, False),
        ("test_c[1-x]", PYTEST_OLD, True, False),
        ("test_c", PYTEST_OLD, False, False),
        ("FooTest::adds", JAVA, False, False),
        ("adds", JAVA, True, False),
        ("sub", GO, False, False),
    ],
)
def test_an_id_means_a_test_whole_or_by_its_end(asked: str, case: tuple[str, str, str], fit: bool, exact: bool) -> None:
    assert (fits(asked, *case), is_exact(asked, *case)) == (fit, exact)


@pytest.mark.parametrize(
    ("id", "file"), [("a/b.py::c", "a/b.py"), ("b.py::C::d", "b.py"), ("B::c", ""), ("c", ""), ("a/b.py", "")]
)
def test_the_file_of_an_id_is_its_first_part(id: str, file: str) -> None:
    assert file_in(id) == file


@pytest.mark.parametrize(("file", "module"), [("a/b.py", "a.b"), ("b.py", "b"), ("b.cc", ""), ("", "")])
def test_only_a_python_file_has_a_module(file: str, module: str) -> None:
    assert module_of(file) == module
