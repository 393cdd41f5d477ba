"""Durations as people say them."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def lasting(seconds: float) -> str:
    """A duration in at most two units, cut down: `6 h 12 min`, `45 s`, `3 d 4 h`, `0.4 s`; in hours up to 48 h."""
    if seconds < 10 and seconds != int(seconds):
        return f"{max(0.0, seconds):.1f} s"
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE and whole % _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return _two(whole, _MINUTE, "min", 1, "s")
    if whole <= 2 * _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "min")
    return _two(whole, _DAY, "d", _HOUR, "h")


def _two(seconds: int, large: int, name: str, small: int, rest: str) -> str:
    count, left = divmod(seconds, large)
    parts = [f"{count} {name}"] if count else []
    if left // small or not parts:
        parts.append(f"{left // small} {rest}")
    return " ".join(parts)
