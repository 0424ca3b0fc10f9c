"""Timers of clients and brokers, and faults.

Timers of a client are those of producers, consumers and the operator. Faults come with the events
of their ends.
"""

from tidegauge.compiled.records import flag, i64
from tidegauge.simulation.messages.event import Fault, News, Timer


class ClientStart(Timer, kind=83):
    """A client begins."""


class ProducerSends(Timer, kind=84):
    """A producer's next batch is due."""


class ProducerWakes(Timer, kind=85):
    """The retry.backoff.ms, or linger.ms, of a partition's first batch are over."""

    #: The partition's place in ``Clients.client_targets``.
    target: i64


class BatchExpires(Timer, kind=130):
    """The delivery.timeout.ms of a producer's oldest batch are over."""


class SendBlocks(Timer, kind=131):
    """The application has waited max.block.ms for memory."""

    #: The number of the wait.
    block: i64


class StallLooks(Timer, kind=166):
    """A batch, or a partition that a consumer reads, may have waited for too long."""


class RequestTimesOut(Timer, kind=86):
    """A request may have got no response within request.timeout.ms."""

    #: The kind of the request, its number, and the broker that was asked, where these matter.
    request_kind: i64 = -1
    broker: i64 = -1


class ConsumerPolls(Timer, kind=87):
    """A consumer's records are processed, or its back-off is over."""

    #: The broker that it fetches from.
    broker: i64


class MetadataRefresh(Timer, kind=88):
    """A client's metadata.max.age.ms are over."""


class StepDue(Timer, kind=89):
    """The time of a step has come, or that within which its condition should hold."""

    step: i64


class StepLooks(Timer, kind=90):
    """The operator polls a condition that cannot be watched, unless it has sent a request since."""

    step: i64
    question: i64


class RollResume(Timer, kind=91):
    """A rolling restart checks its brokers, or goes on after a pause.

    The timer is void if it has sent a request since.
    """

    roll: i64
    question: i64


class RollTimesOut(Timer, kind=92):
    """The batch that begins at a position has had its time."""

    roll: i64
    position: i64


class GroupDue(Timer, kind=94):
    """A consumer's next request to its coordinator, or a response that is overdue."""

    #: The number of the timer: only the last one counts.
    turn: i64


class CommitDue(Timer, kind=95):
    """auto.commit.interval.ms are over, or the response to a commit is overdue."""

    #: The number of the timer: only the last one counts.
    turn: i64


class ConsumerSample(Timer, kind=96):
    """The sample of a consumer's lag, every sample_every."""


class ConsumerRestarts(News, kind=97):
    """A consumer is restarted."""


class BrokerStart(Timer, kind=30):
    """A broker is started at its appointed time."""


class HandlerFree(Timer, kind=31):
    """One of num.io.threads is free, and requests may wait for it."""


class HandlerResume(Timer, kind=40):
    """A request that takes its time, partition by partition, or a slow disk's, goes on."""

    #: Its place in ``Kernel.events``.
    request_index: i64


class ConnectionFree(Timer, kind=132):
    """A producer's connection has its response: the next request is read from it."""

    #: The connection's place in ``Brokers.producer_connections``.
    connection: i64


class ProduceExpires(Timer, kind=32):
    """A produce may have waited for its time-out."""


class FetchExpires(Timer, kind=33):
    """A consumer's fetch has waited for fetch.max.wait.ms, if it still waits."""

    #: Its place in ``Kernel.events``, and which it was: the place may have been taken again.
    request_index: i64
    request_source: i64
    request_sequence: i64


class FollowerFetchExpires(Timer, kind=25):
    """A follower's fetch may have waited for replica.fetch.wait.max.ms."""

    #: The fetcher thread whose session it is.
    fetcher: i64


class FetcherWakes(Timer, kind=34):
    """A fetcher thread's back-off is over."""

    fetcher: i64


class FetcherTimeout(Timer, kind=35):
    """A fetcher's request may have got no response within replica.socket.timeout.ms."""

    fetcher: i64


class IsrExpiration(Timer, kind=36):
    """isr-expiration runs."""


class IsrChangePropagation(Timer, kind=37):
    """isr-change-propagation runs."""


class SessionPing(Timer, kind=38):
    """Nothing may have been sent to ZooKeeper for a third of the session's time-out."""


class Sample(Timer, kind=39):
    """The ends of the logs and the gauges are written down, every sample_every."""


class LoadingBegins(Timer, kind=47):
    """The checkpoints are read, and the logs are to be loaded."""


class LogsLoaded(Timer, kind=41):
    """All logs are loaded."""


class HighWatermarkCheckpoint(Timer, kind=42):
    """highwatermark-checkpoint runs."""


class RecoveryPointCheckpoint(Timer, kind=43):
    """kafka-recovery-point-checkpoint runs."""


class ShutdownRetries(Timer, kind=44):
    """controlled.shutdown.retry.backoff.ms are over."""


class ShutdownTimeout(Timer, kind=45):
    """The controller may not have answered a ControlledShutdown in time."""

    #: The attempt that it is about.
    attempt: i64


class BrokerStops(Timer, kind=46):
    """Everything of a broker that stops is on disk."""


class OffsetsLoaded(Timer, kind=68):
    """A coordinator has read its partition of __consumer_offsets."""

    #: The replica.
    row: i64


class MemberExpires(Timer, kind=65):
    """A session of a group's member may have timed out."""

    #: Its place in ``Brokers.commit_keys``.
    member_key: i64


class AlterPartitionDue(Timer, kind=49):
    """AlterPartition: time to send it, or to send it again."""


class AlterPartitionTimeout(Timer, kind=27):
    """AlterPartition: the request in flight may have got no response in time."""


class SessionReconnects(Timer, kind=28):
    """The client of a session that has expired is connected again."""

    #: The session that was lost.
    session: i64


class RegistrationDue(Timer, kind=29):
    """The rest of a broker of 1.0 or older has started: it registers."""


class LogDirFails(Timer, kind=26):
    """LogDirFailureHandler is notified of a directory in which a write has failed."""

    directory: i64


class FutureLogCopied(Timer, kind=182):
    """A piece of a log is copied into the future log in another log directory."""

    row: i64
    directory: i64
    #: Where the future log ended before, and where it ends with this piece.
    copied_from: i64
    end_offset: i64


class RetentionCheck(Timer, kind=133):
    """Old segments are deleted, every log.retention.check.interval.ms."""


class FaultChange(Fault):
    """A fault begins or ends at a process."""

    #: Its number in the scenario.
    fault: i64


class FaultBegin(FaultChange, kind=0):
    """A fault begins."""


class FaultEnd(FaultChange, kind=1):
    """A fault ends."""


class FaultKnown(FaultChange, kind=2):
    """A fault has begun or ended at the sending process."""

    begins: flag
    #: The row about it.
    row_sequence: i64


class LinkRelease(Fault, kind=3):
    """TCP retransmits the packets that a cut has held back."""

    #: The process at the other end, from which it comes.
    peer: i64


class PinRelease(Fault, kind=138):
    """A pin releases messages that it holds."""

    #: Its number in the scenario, and the last of its messages that is released, from 1 on.
    pin: i64
    last: i64
    #: It takes no message from now on.
    ends_pin: flag


class PinKnown(Fault, kind=170):
    """The sender of a message learns that a pin has taken it, as it could see in the story."""

    pin: i64
    #: The row about it, of the receiver.
    row_sequence: i64


class SupervisorStarts(Fault, kind=4):
    """A supervisor starts a broker again that has exited by itself."""

    #: The start of the broker that has ended so.
    start: i64


class Observe(Fault, kind=5):
    """The content of a broker's disk and memory is written down, as a test harness sees it."""

    step: i64


class ProcessRelease(Fault, kind=6):
    """A process that goes on has run its own timers, and reads the messages that have arrived."""


class Disconnected(News, kind=7):
    """A process is gone or does not listen: its connections are closed."""

    #: Requests on them up to then are lost.
    until_us: i64
