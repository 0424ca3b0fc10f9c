"""Areas of the controller: elections, state machines, a partition's fate."""

from __future__ import annotations

from typing import ClassVar

from tidegauge.controller.partitions import leader_and_isr, partition_changes, replica_state_machine
from tidegauge.controller.partitions.leader_and_isr import (
    NO_LEADER,
    failure_takes_offline,
    initialize_leader_and_isr,
    remove_replica_from_isr,
)
from tidegauge.replication.records import LeaderAndIsr
from tidegauge.replication.replica_list import append, contains, single, size
from vector_runner.area import (
    Area,
    Brokers,
    Fields,
    Json,
    UnknownContentError,
    area,
    choice,
    record,
    release_rules,
)


@area("leader_election")
class LeaderElection(Area):
    """One election of one partition."""

    def __init__(self, given: Fields, tag: str) -> None:
        del tag
        assignment = given.take("assignment")
        self.brokers = Brokers(assignment)
        self.assignment = self.brokers.pack(assignment)
        self.target = self.brokers.pack(given.take("target_replicas", assignment))
        self.live = self.brokers.pack(given.take("live"))
        self.shutting_down = self.brokers.pack(given.take("shutting_down", []))
        self.unclean_enabled = given.take("unclean", False)
        self.strategy = given.take("strategy")
        self.state = record(
            LeaderAndIsr,
            leader=NO_LEADER,
            isr=self.brokers.pack(given.take("isr")),
            leader_epoch=given.take("leader_epoch", 0),
        )
        given.take("full_result", False)  # says which keys are expected; the keys say so too
        self.outcome: int | None = None

    def op_elect(self) -> None:
        state = self.state
        if self.strategy == "offline":
            self.outcome = leader_and_isr.offline_partition_leader_election(
                state, self.assignment, self.live, self.unclean_enabled
            )
        elif self.strategy == "reassign":
            self.outcome = leader_and_isr.reassign_partition_leader_election(
                state, self.target, self.live
            )
        elif self.strategy == "preferred":
            self.outcome = leader_and_isr.preferred_replica_partition_leader_election(
                state, self.assignment, self.live
            )
        elif self.strategy == "controlled_shutdown":
            self.outcome = leader_and_isr.controlled_shutdown_partition_leader_election(
                state, self.assignment, self.live, self.shutting_down
            )
        else:
            raise UnknownContentError(f"unknown strategy {self.strategy!r}")

    def see_leader(self) -> int | None:
        if self.outcome in (None, leader_and_isr.NOBODY_ELECTED):
            return None
        return self.brokers.broker(self.state.leader)

    def see_unclean(self) -> bool:
        return bool(self.outcome == leader_and_isr.ELECTED_UNCLEAN)

    def see_isr(self) -> list[int]:
        return self.brokers.unpack(self.state.isr)

    def see_leader_epoch(self) -> int:
        return self.state.leader_epoch


class StateMachine(Area):
    """A state and transitions of it, legal or not."""

    states: ClassVar[dict[str, int]]

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        self.state = choice(self.states, given.take("state"), "state")
        self.allowed: bool | None = None

    def may_enter(self, target: int) -> bool:
        """Whether the state may be left for another."""
        raise NotImplementedError

    def op_transition(self, step: Fields) -> None:
        target = choice(self.states, step.take("to"), "state")
        self.allowed = bool(self.may_enter(target))
        if self.allowed:
            self.state = target

    def see_allowed(self) -> bool | None:
        return self.allowed

    def see_state(self) -> str:
        return next(name for name, state in self.states.items() if state == self.state)


@area("partition_state_machine")
class PartitionStateMachine(StateMachine):
    """Kafka's PartitionStateMachine."""

    states: ClassVar[dict[str, int]] = {
        "New": partition_changes.NEW_PARTITION,
        "Online": partition_changes.ONLINE_PARTITION,
        "Offline": partition_changes.OFFLINE_PARTITION,
        "NonExistent": partition_changes.NON_EXISTENT_PARTITION,
    }

    def may_enter(self, target: int) -> bool:
        return partition_changes.may_enter(self.state, target)


@area("replica_state_machine")
class ReplicaStateMachine(StateMachine):
    """Kafka's ReplicaStateMachine."""

    states: ClassVar[dict[str, int]] = {
        "New": replica_state_machine.NEW_REPLICA,
        "Online": replica_state_machine.ONLINE_REPLICA,
        "Offline": replica_state_machine.OFFLINE_REPLICA,
        "DeletionStarted": replica_state_machine.REPLICA_DELETION_STARTED,
        "DeletionSuccessful": replica_state_machine.REPLICA_DELETION_SUCCESSFUL,
        "DeletionIneligible": replica_state_machine.REPLICA_DELETION_INELIGIBLE,
        "NonExistent": replica_state_machine.NON_EXISTENT_REPLICA,
    }

    def may_enter(self, target: int) -> bool:
        return replica_state_machine.may_enter(self.rules, self.state, target)


@area("controller_scenario")
class ControllerScenario(Area):
    """One partition, and brokers that come and go in the controller's view."""

    def __init__(self, given: Fields, tag: str) -> None:
        self.rules = release_rules(tag)
        assignment = given.take("assignment")
        self.brokers = Brokers(assignment)
        self.assignment = self.brokers.pack(assignment)
        self.live = set(given.take("live"))
        self.shutting_down: set[int] = set()
        self.unclean_enabled = given.take("unclean", False)
        self.state = record(LeaderAndIsr, leader=NO_LEADER)
        self.machine = partition_changes.NEW_PARTITION
        known = given.take("state", None)
        if known is not None:
            fields = Fields(known, "given.state")
            self.state.leader = self.brokers.slot(fields.take("leader"))
            self.state.isr = self.brokers.pack(fields.take("isr"))
            self.state.leader_epoch = fields.take("leader_epoch")
            fields.all_taken()
            self.machine = partition_changes.OFFLINE_PARTITION
            if contains(self._online(), self.state.leader):
                self.machine = partition_changes.ONLINE_PARTITION
        else:
            self._trigger_online_state_change()

    def _online(self) -> int:
        """Replicas whose brokers are live and not shutting down, as the controller has it."""
        return self._replicas_on(self.live - self.shutting_down)

    def _replicas_on(self, brokers: set[int]) -> int:
        return self.brokers.pack(broker for broker in self.brokers.known() if broker in brokers)

    def _trigger_online_state_change(self) -> None:
        """Initialise a new partition, elect for an offline one, leave an online one alone."""
        if self.machine == partition_changes.NEW_PARTITION:
            succeeded = initialize_leader_and_isr(self.state, self.assignment, self._online())
        elif self.machine == partition_changes.OFFLINE_PARTITION:
            outcome = leader_and_isr.offline_partition_leader_election(
                self.state, self.assignment, self._online(), self.unclean_enabled
            )
            succeeded = outcome != leader_and_isr.NOBODY_ELECTED
        else:
            return
        if succeeded:
            self.machine = partition_changes.ONLINE_PARTITION

    def op_broker_down(self, step: Fields) -> None:
        broker = step.take("broker")
        self.live.discard(broker)
        self.shutting_down.discard(broker)
        dead = single(self.brokers.slot(broker))
        if self.machine == partition_changes.ONLINE_PARTITION and failure_takes_offline(
            self.rules, self.state, dead, self._online()
        ):
            self.machine = partition_changes.OFFLINE_PARTITION
        self._trigger_online_state_change()
        self._take_offline(broker)

    def op_replica_offline(self, step: Fields) -> None:
        self._take_offline(step.take("broker"))

    def _take_offline(self, broker: int) -> None:
        replica = self.brokers.slot(broker)
        remove_replica_from_isr(self.rules, self.state, replica, self.unclean_enabled)

    def op_broker_up(self, step: Fields) -> None:
        self.live.add(step.take("broker"))
        self._trigger_online_state_change()

    def op_isr_expand(self, step: Fields) -> None:
        self.state.isr = append(self.state.isr, self.brokers.slot(step.take("broker")))

    def op_controlled_shutdown(self, step: Fields) -> None:
        broker = step.take("broker")
        self.shutting_down.add(broker)
        if size(self.assignment) == 1:
            return
        if self.state.leader != self.brokers.slot(broker):
            self._take_offline(broker)
            return
        leader_and_isr.controlled_shutdown_partition_leader_election(
            self.state,
            self.assignment,
            self._replicas_on(self.live),
            self._replicas_on(self.shutting_down),
        )

    def op_preferred_election(self) -> None:
        if leader_and_isr.needs_preferred_election(self.rules, self.state, self.assignment):
            leader_and_isr.preferred_replica_partition_leader_election(
                self.state, self.assignment, self._online()
            )

    def see_leader(self) -> int:
        return self.brokers.broker(self.state.leader)

    def see_isr(self, expected: Json) -> list[int]:
        """The ISR in the stored order, or sorted if that is how it is expected."""
        isr = self.brokers.unpack(self.state.isr)
        return sorted(isr) if expected == sorted(isr) else isr

    def see_leader_epoch(self) -> int:
        return self.state.leader_epoch
