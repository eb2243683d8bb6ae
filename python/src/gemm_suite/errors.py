"""The exceptions of the package that are not TypeError or ValueError."""


class Unavailable(RuntimeError):
    """The product cannot be computed here. The text says what is missing and what to do."""
