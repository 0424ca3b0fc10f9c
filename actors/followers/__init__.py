"""A broker as follower: truncate as the leader's epochs demand, fetch, append, repeat."""
