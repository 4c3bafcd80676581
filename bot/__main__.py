"""``python -m bot`` is ``holdshort``."""

from bot.cli.app import main

main()
