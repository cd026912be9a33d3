"""The words that options and settings choose from; apart, so that the command line starts fast."""

FORMATS = ("full", "concise", "json", "github", "gitlab", "sarif", "junit", "rdjson", "html")
LEVELS = ("certain", "likely", "possible")
