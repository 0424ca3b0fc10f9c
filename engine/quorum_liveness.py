"""The quorum in the liveness phase: it leads on, and no change of voters is stuck.

After all faults have ended, in a quorum whose voters may change (KIP-853):

* a controller leads, and a majority of its voters follows it (EventuallyLeaderElected);
* it has committed records of its own epoch, so no value waits for ever (ValuesEventuallyAcked);
* the newest voters of its log are committed, and all of them have these, or another leader has
  taken them back (ReconfigurationNotStuck).

A quorum that has lost a majority of its voters' disks, or of whose voters none can be elected,
stays without a leader: ``traces/quorum_checks/voter_sets.py`` has what permits that.

Source: the liveness properties of the TLA+ specification of KIP-853 (kraft_kip_853_properties.tla).
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.engine.group_states import ObservedController
from tidegauge.replication.voter_set import directory_of, is_voter
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.codes import LEADER

QUORUM_IS_WELL = code(0)
NO_QUORUM_LEADER = code(10)
NOTHING_COMMITTED = code(11)
VOTERS_NOT_COMMITTED = code(12)

#: The problems of a quorum in words.
QUORUM_PROBLEMS = {
    int(NO_QUORUM_LEADER): "no controller leads a majority of its voters",
    int(NOTHING_COMMITTED): "its leader commits nothing",
    int(VOTERS_NOT_COMMITTED): "a change of its voters is neither committed by all, nor taken back",
}


@inner_rule
def quorum_problem(controllers: Records[ObservedController]) -> int:
    """What is wrong with a quorum: one of the above; without controllers that change nothing is."""
    if len(controllers) == 0 or controllers[0].directory == 0:
        return QUORUM_IS_WELL
    leader = _functional_leader(controllers)
    if leader == NONE:
        return NO_QUORUM_LEADER
    known = controllers[leader]
    if known.high_watermark <= known.epoch_start_offset:
        return NOTHING_COMMITTED
    for number, controller in enumerate(controllers):
        is_told = controller.voters == known.voters and (
            controller.high_watermark > controller.voters_offset
        )
        if _is_present(controllers, known.voters, number) and not is_told:
            return VOTERS_NOT_COMMITTED
    return QUORUM_IS_WELL


@inner_rule
def _functional_leader(controllers: Records[ObservedController]) -> int:
    """The leader of the newest epoch, if a majority of its voters follows it; else NONE."""
    leader = NONE
    for number, controller in enumerate(controllers):
        leads = controller.runs and controller.state == LEADER
        if leads and (leader == NONE or controller.epoch > controllers[leader].epoch):
            leader = number
    if leader == NONE:
        return NONE
    known = controllers[leader]
    count = 0
    following = 0
    for number, controller in enumerate(controllers):
        count += 1 if directory_of(known.voters, number) != 0 else 0
        follows = controller.epoch == known.epoch and controller.leader == leader
        if controller.runs and follows and _is_present(controllers, known.voters, number):
            following += 1
    return leader if 2 * following > count else NONE


@inner_rule
def _is_present(controllers: Records[ObservedController], voters: int, number: int) -> bool:
    """Whether a controller is one of these voters, with its directory."""
    return is_voter(voters, number, controllers[number].directory)
