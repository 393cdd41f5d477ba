"""One JUnit report as a stream of test cases: pytest, Surefire, Gradle, jest-junit, gotestsum, CTest, nextest, and kin.

Read with expat and not into a tree: a report of hundreds of megabytes is mostly output nobody asks for, often as one
text, and that text is never held. A DTD is refused, so there are no entities to expand and no files to fetch.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final
from xml.parsers import expat

from buildeye.model.cases import Case
from buildeye.testresults.dialect import Draft, Suite, outcome_kind
from buildeye.testresults.xmltext import mended

ROOTS: Final = ("testsuites", "testsuite", "testrun")
FOREIGN: Final = {
    "assemblies": "xUnit.net",
    "test-run": "NUnit",
    "test-results": "NUnit",
    "TestRun": "Visual Studio (TRX)",
}
"""Roots of other tools' reports, which their own converters turn into JUnit."""
_EARLY: Final = dict.fromkeys(
    (
        expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS],
        expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_TOKEN],
        expat.errors.codes[expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION],
    ),
    "it ends too early",
)
_DEEPEST: Final = 100
_LONGEST_TAG: Final = 8 * 1024 * 1024  # bytes; expat holds a tag until it is whole


class CutOffError(Exception):
    """A report cannot be read on; the message says why. Also for whoever brings its bytes."""


class Report:
    """The test cases of one report. Iterate once; `trouble` says afterwards what went wrong, empty when nothing did.

    There are no cases when it is no JUnit report: XML of another kind (`is_other`), or none at all.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self._reader = _Reader()
        self.trouble = ""

    @property
    def is_junit(self) -> bool:
        """Whether the root is that of a JUnit report."""
        return self._reader.root in ROOTS

    @property
    def is_other(self) -> bool:
        """Whether the root is that of XML of another kind."""
        return bool(self._reader.root) and not self.is_junit

    def __iter__(self) -> Iterator[Case]:
        encoding, chunks = mended(self._chunks)
        parser = self._reader.attached(expat.ParserCreate(encoding))
        fed = 0
        try:
            for chunk in chunks:
                parser.Parse(chunk, False)
                fed += len(chunk)
                yield from self._reader.taken()
                if fed - max(parser.CurrentByteIndex, 0) > _LONGEST_TAG:
                    raise CutOffError(f"a tag is longer than {_LONGEST_TAG >> 20} MiB")
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            self.trouble = self._told(_EARLY.get(error.code, expat.ErrorString(error.code)), error.lineno)
        except CutOffError as error:
            self.trouble = self._told(str(error), parser.CurrentLineNumber)
        except (LookupError, ValueError) as error:  # an encoding Python does not know or cannot read byte by byte
            self.trouble = self._told(f"its encoding cannot be read ({error})", parser.CurrentLineNumber)
        yield from self._reader.taken()

    def _told(self, why: str, line: int) -> str:
        if not self.is_junit:
            return f"it is no JUnit report: {why}"
        kept = self._reader.count
        unfinished = ", the one it broke in is left out" if self._reader.inside_case else ""
        return f"it breaks at line {line} ({why}); the {kept} test cases before are kept{unfinished}"


class _Reader:
    """Turns the parser's events into cases; `root` is the name of the first element."""

    def __init__(self) -> None:
        self.root = ""
        self.count = 0
        self._ready: deque[Case] = deque()
        self._suites: list[Suite] = []
        self._draft: Draft | None = None
        self._path: list[str] = []
        self._parser: expat.XMLParserType | None = None

    @property
    def inside_case(self) -> bool:
        """Whether a test case has begun and not ended."""
        return self._draft is not None

    def attached(self, parser: "expat.XMLParserType") -> "expat.XMLParserType":
        """The parser, telling this reader what it meets."""
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._refuse
        parser.buffer_text = True
        self._parser = parser
        return parser

    def taken(self) -> Iterator[Case]:
        """The cases that have ended since the last call."""
        while self._ready:
            yield self._ready.popleft()

    def _refuse(self, *_: object) -> None:
        raise CutOffError("it has a DTD, which is not read because it can name files and grow without bound")

    def _start(self, name: str, given: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self._path:
            self._begin(name)
        self._path.append(name)
        if len(self._path) > _DEEPEST:
            raise CutOffError(f"its elements are nested deeper than {_DEEPEST}")
        if self._draft is not None:
            self._inside(name, given)
        elif name in ("testsuite", "testrun"):
            self._suites.append(Suite.of(given, self._suites[-1] if self._suites else None))
        elif name == "testcase":
            self._draft = Draft.of_case(given, self._suites[-1] if self._suites else Suite())
        elif self._path[-2:-1] == ["testsuite"] and outcome_kind(name):
            self._draft = Draft.of_suite(self._suites[-1])
            self._inside(name, given)

    def _begin(self, name: str) -> None:
        self.root = name
        if name not in ROOTS:
            tool = FOREIGN.get(name)
            raise CutOffError(
                f"it is a report of {tool}, have it converted to JUnit" if tool else f"its root is <{name[:60]}>"
            )

    def _inside(self, name: str, given: dict[str, str]) -> None:
        assert self._draft is not None and self._parser is not None
        self._parser.CharacterDataHandler = self._draft.text if self._draft.open(name, given) else None

    def _end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        self._path.pop()
        if self._draft is None:
            if name in ("testsuite", "testrun") and self._suites:
                self._suites.pop()
            return
        assert self._parser is not None
        wants_text = self._draft.close(name)
        self._parser.CharacterDataHandler = self._draft.text if wants_text else None
        if self._draft.ends_with(name):
            self._parser.CharacterDataHandler = None
            self._ready.append(self._draft.case(self.count))
            self.count += 1
            self._draft = None
