"""Many requests at once, but never more than allowed."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(call: Callable[[Item], Result], items: Iterable[Item], width: int) -> Iterator[Result]:
    """`call` of each item in the order of `items`, `width` at once, at most 2 x `width` taken ahead.

    An exception of a call is raised in its turn; what has not started by then is not started.
    """
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(max_workers=width, thread_name_prefix="github") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(call, item))
                if len(waiting) >= 2 * width:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
