"""Does the failure name what the change touches?"""

from collections.abc import Iterator, Sequence

from buildeye.triage.evidence.piece import Piece, Window
from buildeye.triage.files import is_machinery, is_manifest, is_touched, named_files, related
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject


def judge_own(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """Files of the failure beside files of the change, and changes to dependencies and to CI itself."""
    changed = _changed(subject, history)
    if not changed:
        return
    named = named_files(subject)
    touched = [path for path in changed if is_touched(path, named)]
    near = [] if touched else sorted({path for path in changed for name in named if related(path, name)})
    if touched:
        yield Piece("own-files", 1.0, ", ".join(touched[:4]), "this change touches a file that the failure names")
    elif near:
        yield Piece("own-area", 1.0, ", ".join(near[:4]), "this change touches what the failing test is about")
    elif named:
        yield Piece(
            "foreign-files",
            1.0,
            ", ".join(sorted(named)[:3]),
            "this change touches none of the files the failure names",
        )
    manifests = [path for path in changed if is_manifest(path)]
    if manifests:
        yield Piece("own-dependencies", 1.0, ", ".join(manifests[:3]), "this change touches what is installed")
    machinery = [path for path in changed if is_machinery(path)]
    if machinery:
        yield Piece("own-machinery", 1.0, ", ".join(machinery[:3]), "this change touches CI itself")


def _changed(subject: Subject, history: History) -> tuple[str, ...]:
    if subject.own.on_base:
        merge = history.merge_of.get(subject.own.head_sha)
        return merge.files if merge else ()
    return subject.pull_request.changed_files if subject.pull_request else ()
