"""The endpoint: samples as pages of text, over HTTP and as a file."""
