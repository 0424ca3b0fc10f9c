"""Virtual time: events and processes, links, clients, faults, windows, trace, scenarios."""
