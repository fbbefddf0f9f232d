"""`python -m procurl` is the command `procurl`."""

from procurl.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
