"""Numbers as settings hold them."""

import re
from typing import Annotated

from pydantic import BeforeValidator


def _check_few(value: object) -> object:
    if not re.fullmatch(r"\d", str(value)):
        raise ValueError("must be a number from 0 to 9")
    return value


def _check_limit(value: object) -> object:
    if not re.fullmatch(r"[1-9]\d{0,5}", str(value)):
        raise ValueError("must be a number from 1 to 999999")
    return value


Few = Annotated[int, BeforeValidator(_check_few)]
Limit = Annotated[int, BeforeValidator(_check_limit)]
