"""`python -m buildeye` is the same program as `build-eye`."""

from buildeye.cli import main

if __name__ == "__main__":
    main()
