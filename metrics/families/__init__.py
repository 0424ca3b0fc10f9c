"""The table of metrics: name, type, help, labels and source of each, as exporters spell them."""
