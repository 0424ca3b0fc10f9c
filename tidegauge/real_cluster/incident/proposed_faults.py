"""The faults of a proposed scenario, each with the notice of its evidence."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.input_file import named
from tidegauge.real_cluster.incident.absences import Absence, Manner
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory
from tidegauge.real_cluster.incident.controller_loss import ControllerLoss, Loss
from tidegauge.real_cluster.incident.lagging import Cut, Lag, cuts
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.real_cluster.incident.topology import Span, Topology
from tidegauge.real_cluster.incident.voter_changes import DiskLoss
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import short_seconds_text, short_time_text

#: From a start to the registration, with ZooKeeper and with KRaft, without the loading of logs.
STARTING_US = {False: 702_000, True: 1_080_000}
#: Loading one log after a clean stop, and after any other.
_LOADING_US = {False: (460, 4600), True: (1400, 4030)}
#: From the end of a pause to the new registration, or the unfencing.
_WAKING_US = {False: 30_000, True: 120_000}
#: Brokers of a rack that are killed within this time lost their power together.
_TOGETHER_US = 1_500_000
_LEAST_US = 1000
#: The delay until traffic resumes after a cut, half of the time: TCP's backoff.
_AFTER_CUT_US = 3_000_000
#: Followers of a cut that its notice names.
_MOST_TOLD = 3


class ProposedFault(NamedTuple):
    """A fault at a time of the run that is explained."""

    kind: str
    #: Its target, for its name: ``2``, ``controller-0``, ``rack-b``.
    hits: str
    begin: Span
    end_us: int | None
    #: The fields of its kind.
    fields: dict[str, Any]
    #: Its subject and evidence, without times.
    text: str


class FaultWriter(NamedTuple):
    """Writes faults for the findings in a history."""

    history: ClusterHistory
    topology: Topology
    sightings: Sightings
    #: A time of the run is this much earlier in the scenario.
    earlier_us: int

    def of_absences(self, found: Sequence[Absence]) -> Iterator[ProposedFault]:
        """The faults of brokers that were gone; those of a whole rack are one."""
        rest = list(found)
        for rack, brokers in self.topology.racks.items():
            for together in _racks_lost(found, set(brokers)):
                rest = [absence for absence in rest if absence not in together]
                yield self._of_rack(rack, together)
        for absence in rest:
            yield self._of_absence(absence)

    def _of_rack(self, rack: str, together: Sequence[Absence]) -> ProposedFault:
        begin = max((absence.begin for absence in together), key=lambda span: span.least_us)
        ends = [self._end_us(absence) for absence in together]
        end_us = max((end for end in ends if end is not None), default=None)
        text = (
            f"all brokers of rack {rack} ({named(sorted(each.broker for each in together))}) died "
            f"within {short_seconds_text(_TOGETHER_US)}: {together[0].evidence}. Logs do not show "
            "whether they lost power or were killed"
        )
        fields = {"brokers": [f"rack:{rack}"]}
        return ProposedFault("power_loss", f"rack-{rack}", begin, end_us, fields, text)

    def _of_absence(self, absence: Absence) -> ProposedFault:
        broker = absence.broker
        subject = f"broker {broker}"
        if absence.manner is Manner.KILLED:
            noticed = "" if absence.noticed_us is None else ", and its session expired"
            text = f"{subject} ended without a controlled shutdown{noticed}: {absence.evidence}"
            text += ". A power loss looks the same, unless its next start truncated logs"
        elif absence.manner is Manner.STOPPED:
            text = f"{subject} was stopped cleanly: {absence.evidence}"
        else:
            text = (
                f"{subject} was lost and came back without a start of its process: "
                f"{absence.evidence}. A cut between it and the control plane looks the same"
            )
        if absence.back_us is None:
            text += ". It does not come back in this time"
        return ProposedFault(
            absence.manner.value,
            str(broker),
            absence.begin,
            self._end_us(absence),
            {"brokers": [broker]},
            text,
        )

    def _end_us(self, absence: Absence) -> int | None:
        """The end of the fault after which the broker registers at the recorded time."""
        if absence.back_us is None:
            return None
        if absence.manner is Manner.HUNG:
            end_us = absence.back_us - _WAKING_US[self.history.has_kraft]
            woke_us = self.sightings.first_line_us(
                absence.broker, absence.noticed_us or absence.begin.most_us
            )
            if woke_us is not None and woke_us < absence.back_us:
                end_us = woke_us
        else:
            back = [absence.back_us]
            back += [] if absence.started_us is None else [absence.started_us]
            logs = sum(
                absence.broker in topic.replicas for topic in self.history.partitions.values()
            )
            clean_us, other_us = _LOADING_US[self.history.has_kraft]
            load_us = clean_us if absence.manner is Manner.STOPPED else other_us
            end_us = min(back) - STARTING_US[self.history.has_kraft] - logs * load_us
        return max(end_us, absence.begin.at_us + _LEAST_US)

    def of_controllers(self, losses: Sequence[ControllerLoss]) -> Iterator[ProposedFault]:
        """The faults of active controllers."""
        for loss in losses:
            if loss.manner is Loss.MOVED:
                text = (
                    f"the controller moved: {loss.evidence}. An operator moved it, or its session "
                    "ended for a moment"
                )
                hits = str(loss.controller)
                yield ProposedFault("controller_move", hits, loss.begin, None, {}, text)
                continue
            selector = str(self.topology.selector(loss.controller))
            text = f"controller {loss.controller} ({selector}) was lost as active: {loss.evidence}"
            if loss.back_us is None:
                text += ". It gives no sign of life in this time"
            yield ProposedFault(
                loss.manner.value,
                selector.replace(":", "-"),
                loss.begin,
                loss.back_us,
                {"brokers": [selector]},
                text,
            )

    def of_disks(self, losses: Sequence[DiskLoss]) -> Iterator[ProposedFault]:
        """The faults of controllers that came back with other disks."""
        for loss in losses:
            selector = str(self.topology.selector(loss.controller))
            hits, fields = selector.replace(":", "-"), {"brokers": [selector]}
            text = f"controller {loss.controller} ({selector}) lost its disk: {loss.evidence}"
            # Its first lines are those of the start of its process.
            starts_us = loss.read_us and loss.read_us - STARTING_US[True]
            end_us = max(filter(None, (loss.back_us, starts_us)), default=None)
            yield ProposedFault("disk_loss", hits, loss.begin, end_us, fields, text)

    def of_lags(self, found: Sequence[Lag]) -> Iterator[ProposedFault]:
        """The faults of followers that left ISRs and stayed registered."""
        for lag in found:
            if not lag.is_cut:
                text = self._lag_words(lag) + ". A slow disk, a slow network or a cut looks alike"
                fields = {"brokers": [lag.follower]}
                yield ProposedFault("pause", str(lag.follower), lag.begin, lag.end_us, fields, text)
        for together in cuts([lag for lag in found if lag.is_cut]):
            yield self._of_cut(together)

    def _of_cut(self, cut: Cut) -> ProposedFault:
        kept = sorted({leader for lag in cut.lags for leader in lag.kept_by})
        reason = "it was out for longer than a session that it kept"
        if kept:
            reason = f"leaders {named(kept)} kept theirs"
        text = f"{'; '.join(map(self._lag_words, cut.lags[:_MOST_TOLD]))}; {reason}"
        if len(cut.lags) > _MOST_TOLD:
            text += f" (and {counted(len(cut.lags) - _MOST_TOLD, 'further follower')})"
        text += (
            ". So they were cut off rather than paused; a slow disk or network looks alike. "
            "Traffic resumes some seconds after a cut, by TCP's backoff"
        )
        begin = max((lag.begin for lag in cut.lags), key=lambda span: span.least_us)
        ends = [lag.end_us for lag in cut.lags if lag.end_us is not None]
        end_us = None
        if ends:
            removed_us = max(lag.removed_us for lag in cut.lags)
            end_us = max(min(ends) - _AFTER_CUT_US, min(removed_us, *ends))
        hits = "-".join(map(str, cut.sides[0]))
        fields = {"between": [list(side) for side in cut.sides]}
        return ProposedFault("cut_link", hits, begin, end_us, fields, text)

    def _lag_words(self, lag: Lag) -> str:
        leaders = f"leader{'s' if len(lag.leaders) > 1 else ''} {named(lag.leaders)}"
        removed = short_time_text(max(0, lag.removed_us - self.earlier_us))
        return (
            f"follower {lag.follower} left {counted(len(lag.partitions), 'ISR')} of {leaders} by "
            f"lag from {removed} on and stayed registered"
        )


def _racks_lost(found: Sequence[Absence], brokers: set[int]) -> Iterator[list[Absence]]:
    """The absences of all brokers of a rack that died together."""
    if len(brokers) < 2:  # noqa: PLR2004 - one broker alone is not a rack
        return
    killed = [each for each in found if each.manner is Manner.KILLED and each.broker in brokers]
    for place, first in enumerate(killed):
        together = [
            each
            for each in killed[place:]
            if each.begin.least_us <= first.begin.most_us + _TOGETHER_US
            and (each.noticed_us or 0) - (first.noticed_us or 0) <= _TOGETHER_US
        ]
        if {each.broker for each in together} == brokers and len(together) == len(brokers):
            yield together
            return
