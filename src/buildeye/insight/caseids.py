"""What people call one test: `tests/test_a.py::TestB::test_c` as pytest writes it, from the columns a report filled.

Reports differ: pytest writes the class with the module before it, or the module as class and no file at all; others
write a class alone. An id is made of what there is, and understood whichever way it is written.
"""

from typing import Final

SEPARATOR: Final = "::"


def case_id(file: str, classname: str, name: str) -> str:
    """The id of a test; what the class repeats of the file is left away."""
    inner = _inner(file, classname)
    return SEPARATOR.join(part for part in (file, inner, name) if part)


def fits(asked: str, file: str, classname: str, name: str) -> bool:
    """Whether `asked` is the id of this test, or its end after a `::`."""
    own = case_id(file, classname, name)
    if own == asked or own.endswith(SEPARATOR + asked):
        return True
    return not file and _pytest_without_file(asked, classname, name)


def is_exact(asked: str, file: str, classname: str, name: str) -> bool:
    """Whether `asked` is the whole id of this test."""
    own = case_id(file, classname, name)
    return own == asked or (not file and _pytest_without_file(asked, classname, name))


def names_in(asked: str) -> tuple[str, ...]:
    """What the name of the test may be: the last part of an id, or more of it, for a name may hold `::` itself."""
    parts = asked.split(SEPARATOR)
    return tuple(SEPARATOR.join(parts[place:]) for place in range(len(parts) - 1, -1, -1))


def file_in(asked: str) -> str:
    """The file an id begins with; empty when it begins with none."""
    first, mark, _ = asked.partition(SEPARATOR)
    return first if mark and _is_file(first) else ""


def module_of(file: str) -> str:
    """The Python module of a file, as pytest writes it into a class: `tests.test_a`; empty for other files."""
    return file.removesuffix(".py").strip("/").replace("/", ".") if file.endswith(".py") else ""


def path_of(file: str, classname: str, folder: str = "") -> str:
    """Where in the repository a test lies, for CODEOWNERS: its file below `folder`, else what its class says."""
    known = file or classname.replace(".", "/")
    known = known.removeprefix("./").lstrip("/")
    above = folder.strip("/")
    return known if not above or known.startswith(f"{above}/") else f"{above}/{known}"


def _is_file(part: str) -> bool:
    return "/" in part or "." in part


def _inner(file: str, classname: str) -> str:
    """The classes of a test without the module before them, parts apart by `::` when there was one."""
    module = module_of(file).split(".")
    for start in range(len(module)):
        prefix = ".".join(module[start:])
        if prefix and classname == prefix:
            return ""
        if prefix and classname.startswith(f"{prefix}."):
            return classname[len(prefix) + 1 :].replace(".", SEPARATOR)
    return classname


def _pytest_without_file(asked: str, classname: str, name: str) -> bool:
    """Whether a pytest id means a case whose report says no file, its module being in the class."""
    file = file_in(asked)
    module = module_of(file)
    if not module or not asked.endswith(SEPARATOR + name):
        return False
    inner = asked[len(file) + len(SEPARATOR) : len(asked) - len(name)].removesuffix(SEPARATOR)
    return classname == ".".join(part for part in (module, inner.replace(SEPARATOR, ".")) if part)
