"""Numbers as settings hold them."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator


def _from_to(first: int, last: int) -> Any:  # noqa: ANN401 - what pydantic reads in an annotation
    def check(value: object) -> int:
        digits = str(value)
        if not re.fullmatch(r"[0-9]{1,9}", digits) or not first <= int(digits) <= last:
            raise ValueError(f"must be a number from {first} to {last}")
        return int(digits)

    return BeforeValidator(check)


Few = Annotated[int, _from_to(0, 9)]
Limit = Annotated[int, _from_to(1, 999_999)]
Threads = Annotated[int, _from_to(1, 9999)]
