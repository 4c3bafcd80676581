"""The pages say what the code does."""

from tests.lifecycle_page import PAGE, page


def test_the_lifecycle_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.lifecycle_page"
