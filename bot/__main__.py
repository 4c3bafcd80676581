"""``python -m bot`` is ``holdshort``."""

from bot.cli import main

main()
