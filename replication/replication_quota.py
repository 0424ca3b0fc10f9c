"""Throttled replication: the limit of a broker's traffic of throttled replicas.

An operator who moves replicas limits the cost for all other traffic (KIP-73). Two quotas of a
broker count the bytes of throttled replicas: those that it sends as their leader, and those that it
fetches as their follower. Bytes of all throttled replicas count, in sync or not; but only a replica
that is *not* in sync is held back while the quota is exceeded, so that a throttle alone never
shrinks an ISR. It is either left out of an answer (the leader's quota) or not fetched at all (the
follower's).

The rate is that of the last ``replication.quota.window.num`` windows of
``replication.quota.window.size.seconds``. A window is closed when something is counted after its
end, not by a clock. Since nothing is held back until the rate is exceeded, a quota that has been
idle lets ten seconds' worth pass at once, and after that as much as was set.

Source: ReplicationQuotaManager, SimpleRate, SampledStat@2.6.0.
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, rule
from tidegauge.replication.records import QuotaSample, ReplicationQuota

#: No limit is set (ReplicationQuotaManagerConfig.QuotaBytesPerSecondDefault).
UNLIMITED = code(2**63 - 1)

#: The kinds of a broker's quotas.
LEADER_QUOTA = code(0)
FOLLOWER_QUOTA = code(1)

_MS_PER_SECOND = code(1000)


@rule
def record_bytes(
    quota: ReplicationQuota, samples: Records[QuotaSample], size_bytes: int, now_ms: int
) -> None:
    """Count bytes of throttled replicas, whether the quota allows them or not.

    Source: ReplicationQuotaManager.record, SampledStat.record@2.6.0.
    """
    _begin(quota, samples, now_ms)
    current = samples[quota.first_sample + quota.current]
    if now_ms - current.start_ms >= quota.window_ms:
        _advance(quota, samples, now_ms)
        current = samples[quota.first_sample + quota.current]
    current.size_bytes += size_bytes


@rule
def count_idle_windows(quota: ReplicationQuota, samples: Records[QuotaSample], now_ms: int) -> None:
    """Close the windows that have ended while nothing throttled was counted.

    Each answer to a follower is counted, with the few bytes of its header if it names no throttled
    replica. So a leader's windows are closed one after the other from its first answer on.

    Source: KafkaApis.handleFetchRequest, sizeOfThrottledPartitions@2.6.0.
    """
    _begin(quota, samples, now_ms)
    start_ms = samples[quota.first_sample + quota.current].start_ms
    idle = (now_ms - start_ms) // quota.window_ms
    # Windows that ended long ago are forgotten.
    start_ms += max(0, idle - quota.window_count) * quota.window_ms
    while now_ms - start_ms >= quota.window_ms:
        start_ms += quota.window_ms
        _advance(quota, samples, start_ms)


@rule
def is_quota_exceeded(quota: ReplicationQuota, samples: Records[QuotaSample], now_ms: int) -> bool:
    """Whether more passes than was set: then replicas that are not in sync are held back.

    Source: ReplicationQuotaManager.isQuotaExceeded, SimpleRate.windowSize, Quota.acceptable@2.6.0.
    """
    if quota.bytes_per_second == UNLIMITED:
        return False
    _begin(quota, samples, now_ms)
    size_bytes = 0
    oldest_ms = now_ms
    for place in range(quota.first_sample, quota.first_sample + quota.sample_count):
        sample = samples[place]
        if now_ms - sample.start_ms >= quota.window_count * quota.window_ms:
            sample.start_ms = now_ms
            sample.size_bytes = 0
        size_bytes += sample.size_bytes
        oldest_ms = min(oldest_ms, sample.start_ms)
    elapsed_ms = max(now_ms - oldest_ms, quota.window_ms)
    return size_bytes * _MS_PER_SECOND > quota.bytes_per_second * elapsed_ms


@rule
def forget_samples(quota: ReplicationQuota) -> None:
    """Begin with no window at all, as a process does.

    Source: SampledStat constructor@2.6.0.
    """
    quota.sample_count = 0
    quota.current = 0


@rule
def _begin(quota: ReplicationQuota, samples: Records[QuotaSample], now_ms: int) -> None:
    """The first window begins with the first request (SampledStat.current, oldest)."""
    if quota.sample_count == 0:
        quota.sample_count = 1
        samples[quota.first_sample].start_ms = now_ms
        samples[quota.first_sample].size_bytes = 0


@rule
def _advance(quota: ReplicationQuota, samples: Records[QuotaSample], start_ms: int) -> None:
    """Begin another window, in the place of the oldest one if there are enough.

    Source: SampledStat.advance@2.6.0.
    """
    quota.current = (quota.current + 1) % quota.window_count
    quota.sample_count = max(quota.sample_count, quota.current + 1)
    sample = samples[quota.first_sample + quota.current]
    sample.start_ms = start_ms
    sample.size_bytes = 0
