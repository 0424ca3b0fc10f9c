"""A broker: its request handlers over the rules, and the Ray actor that hosts brokers."""
