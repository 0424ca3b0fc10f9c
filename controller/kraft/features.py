"""Features of a KRaft cluster: metadata.version, eligible.leader.replicas.version.

kafka-features.sh asks for a level. The active controller changes it if every registered broker and
every controller supports the level, and appends a FeatureLevelRecord; the rules of the level hold
for its own decisions from then on, for another node once that has read the record:

==============================================  ====================================================
what is asked for                               the answer: INVALID_UPDATE_VERSION, because ...
==============================================  ====================================================
a level that a node does not support            that node "only supports versions 1-21": first the
                                                active controller, then brokers, then controllers
a level below the present one, as an upgrade    of the upgrade type; a downgrade says that it is one
a level above it, as a downgrade                it is none
a metadata.version below it, over one that      metadata would be lost; an unsafe downgrade, which
has changed the format of metadata              would accept that, is not supported
eligible leader replicas, below 4.0-IV1         they depend on metadata.version level 23
==============================================  ====================================================

With two features in one request, an error of one changes neither. A feature may be set to the level
that it has. A broker that registers must support the finalized levels.

Without eligible leader replicas (ELR) from now on, those that there are stay until the next change
of their partition.

Simplified: the active controller knows which release another controller runs as soon as that has
been started; in Kafka that one registers (KIP-919). Up to metadata.version 3.6 Kafka does not check
other controllers. kafka-features.sh upgrade of ELR also writes min.insync.replicas as a setting of
the cluster, where it had its default: the value is the same.

Source: FeatureControlManager.updateFeature, updateMetadataVersion, reasonNotSupported@3.9.0,
QuorumFeatures@3.9.0, ClusterControlManager.processRegistrationFeature@3.9.0;
EligibleLeaderReplicasVersion@4.0.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft.metadata_log import append_record, respond_when_committed
from tidegauge.controller.kraft.state import FEATURE_LEVEL_RECORD, WRITES, Quorum
from tidegauge.controller.raft.measured import respond
from tidegauge.controller.raft.state import this_voter, voter_of
from tidegauge.controller.raft.voter_changes import knows_all_voters, upgrade_kraft_version
from tidegauge.replication import errors
from tidegauge.simulation.events import new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import (
    SAFE_DOWNGRADE,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    AdminResponse,
    UpdateFeaturesRequest,
)
from tidegauge.simulation.topology import Software, controller_node, place_of_versions
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.controller_rows import (
    FeatureNotSupported,
    FeatureUnknown,
    FeatureUpdateRefused,
)

#: The level of metadata.version that ELR depend on: 4.0-IV1.
_LEAST_FOR_ELR = code(23)


@inner_rule
def follow_features(world: Quorum, voter: int) -> None:
    """The active controller follows the rules of its release and of the features in memory."""
    state = world.active_controller[0]
    versions = world.node_versions[controller_node(world, voter)]
    versions.metadata_version = state.metadata_version
    versions.elr_version = state.elr_version
    place = place_of_versions(world, controller_node(world, voter))
    rules = world.kraft_rules[place]
    # Both came with KAFKA-17793, and are one switch of the controller.
    state.has_heartbeat_tracker = rules.contact_noted_at_arrival
    state.expired_heartbeats_count = rules.expired_heartbeat_is_contact
    state.shutdown_offset_grows = rules.shutdown_offset_grows
    state.incarnation_keeps_epoch = rules.reregistration_keeps_epoch
    state.registration_clears_isr = rules.registration_clears_isr
    state.fenced_sessions_restart = rules.fenced_sessions_restart
    state.large_operations_are_refused = rules.large_operation_refused
    state.cordoned_assignments_are_refused = rules.cordoned_assignment_refused
    switches = world.kraft_switches[0]
    switches.eligible_leader_replicas = state.elr_version > 0
    switches.isr_shrink_raises_leader_epoch = rules.leader_epoch_raised_at_isr_shrink
    switches.fenced_last_known_leader_elected = rules.fenced_last_known_leader_elected
    switches.reassignment_rule = rules.reassignment_rule
    switches.fenced_replica_in_isr = rules.fenced_replica_in_isr
    switches.isr_version_checked = world.release_rules[place].isr_version_checked


@inner_rule
def recall_features(world: Quorum, voter: int) -> None:
    """A controller that becomes active has the committed features, as all others have."""
    state = world.active_controller[0]
    state.metadata_version = state.committed_metadata_version
    state.elr_version = state.committed_elr_version
    for number in range(len(world.voters)):
        versions = world.node_versions[controller_node(world, number)]
        versions.metadata_version = state.metadata_version
        versions.elr_version = state.elr_version
    follow_features(world, voter)


@WRITES.handles(UpdateFeaturesRequest)
@inner_rule
def handle_update_features(world: Quorum, request: UpdateFeaturesRequest) -> None:
    """Change levels of features, or refuse that."""
    state = world.active_controller[0]
    response = new_response(world, request, AdminResponse)
    if not (
        _may_update_metadata_version(world, request)
        and _may_update_elr(world, request)
        and _may_update_kraft_version(world, request)
    ):
        response.error = errors.INVALID_UPDATE_VERSION
        respond(world, response)
        return
    if request.metadata_version != NONE:
        state.metadata_version = request.metadata_version
        record = append_record(world, FEATURE_LEVEL_RECORD, codes.METADATA_VERSION)
        record.state = request.metadata_version
    if request.elr_version != NONE:
        state.elr_version = request.elr_version
        record = append_record(world, FEATURE_LEVEL_RECORD, codes.ELR_VERSION)
        record.state = request.elr_version
    if request.kraft_version > this_voter(world).kraft_version:
        _raise_kraft_version(world, request.kraft_version)
    follow_features(world, voter_of(world, world.context[0].handling))
    respond_when_committed(world, response)


@inner_rule
def _raise_kraft_version(world: Quorum, level: int) -> None:
    """Append the records of kraft.version; up to 4.0 one that Raft does not read.

    There the level is raised in name only, for kafka-features.sh, and the voters stay as they are.

    Source: FeatureControlManager.updateFeature@3.9.0, KAFKA-18979;
    RaftClient.upgradeKRaftVersion@4.1.0 (KAFKA-16538).
    """
    if this_voter(world).kraft_version_upgradable:
        upgrade_kraft_version(world)
    else:
        record = append_record(world, FEATURE_LEVEL_RECORD, codes.KRAFT_VERSION)
        record.state = level


@inner_rule
def _may_update_metadata_version(world: Quorum, request: UpdateFeaturesRequest) -> bool:
    if request.metadata_version == NONE:
        return True
    feature = codes.METADATA_VERSION
    asked = world.metadata_versions[request.metadata_version]
    now = world.metadata_versions[world.active_controller[0].metadata_version]
    if not _is_supported(world, feature, asked.feature_level):
        return False
    refusal = _refusal_of(now.feature_level, asked.feature_level, request.upgrade_type)
    is_lower = asked.feature_level < now.feature_level
    if refusal == NONE and is_lower and asked.metadata_changes != now.metadata_changes:
        is_unsafe = request.upgrade_type == UNSAFE_DOWNGRADE
        refusal = codes.UNSAFE_NOT_SUPPORTED if is_unsafe else codes.METADATA_WOULD_BE_LOST
    return _is_accepted(world, feature, asked.feature_level, refusal)


@inner_rule
def _may_update_elr(world: Quorum, request: UpdateFeaturesRequest) -> bool:
    if request.elr_version == NONE:
        return True
    feature = codes.ELR_VERSION
    state = world.active_controller[0]
    if not _is_supported(world, feature, request.elr_version):
        return False
    refusal = _refusal_of(state.elr_version, request.elr_version, request.upgrade_type)
    proposed = state.metadata_version
    if request.metadata_version != NONE:
        proposed = request.metadata_version
    level = world.metadata_versions[proposed].feature_level
    if refusal == NONE and request.elr_version > 0 and level < _LEAST_FOR_ELR:
        refusal = codes.DEPENDS_ON_METADATA_VERSION
    return _is_accepted(world, feature, request.elr_version, refusal)


@inner_rule
def _may_update_kraft_version(world: Quorum, request: UpdateFeaturesRequest) -> bool:
    """Whether kraft.version may be raised, which the voters must be known for; it stays ever after.

    Source: FeatureControlManager.updateFeature, LeaderState.maybeAppendUpgradedKRaftVersion@4.1.0.
    """
    if request.kraft_version == NONE:
        return True
    feature = codes.KRAFT_VERSION
    if not _is_supported(world, feature, request.kraft_version):
        return False
    now = this_voter(world).kraft_version
    refusal = _refusal_of(now, request.kraft_version, request.upgrade_type)
    if refusal == NONE and request.kraft_version < now:
        refusal = codes.KRAFT_VERSION_STAYS
    is_raised = request.kraft_version > now and this_voter(world).kraft_version_upgradable
    if refusal == NONE and is_raised and not knows_all_voters(world):
        refusal = codes.VOTERS_UNKNOWN
    return _is_accepted(world, feature, request.kraft_version, refusal)


@inner_rule
def _refusal_of(now: int, asked: int, upgrade_type: int) -> int:
    """Why a level is not changed in this way; NONE: it may be."""
    if asked < now and upgrade_type == UPGRADE:
        return codes.DOWNGRADE_NOT_NAMED
    if asked > now and upgrade_type in (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return codes.NO_DOWNGRADE
    return NONE


@inner_rule
def _is_accepted(world: Quorum, feature: int, level: int, refusal: int) -> bool:
    if refusal != NONE:
        FeatureUpdateRefused.write(world, feature=feature, feature_level=level, refusal=refusal)
    return refusal == NONE


@inner_rule
def _is_supported(world: Quorum, feature: int, level: int) -> bool:
    """Whether all nodes support a level: this controller, registered brokers, other controllers.

    Source: FeatureControlManager.reasonNotSupported@3.9.0.
    """
    own = controller_node(world, voter_of(world, world.context[0].handling))
    if not _node_supports(world, own, world.node_versions[own].software, feature, level):
        return False
    for broker in range(world.sizes[0].brokers):
        known = world.quorum_brokers[broker]
        if known.registered and not _node_supports(world, broker, known.software, feature, level):
            return False
    for number in range(len(world.voters)):
        node = controller_node(world, number)
        if not _node_supports(world, node, world.node_versions[node].software, feature, level):
            return False
    return True


@inner_rule
def _node_supports(world: Quorum, node: int, software: int, feature: int, level: int) -> bool:
    """Whether a node with this release supports a level; if not, that is a row."""
    release = world.software[software]
    newest = release.newest_elr_version
    if feature == codes.KRAFT_VERSION:
        newest = release.newest_kraft_version
    if feature != codes.METADATA_VERSION and newest == 0:
        FeatureUnknown.write(world, feature=feature, feature_level=level, server=node)
        return False
    oldest = 0
    if feature == codes.METADATA_VERSION:
        oldest = release.oldest_metadata_version
        newest = release.newest_metadata_version
    if oldest <= level <= newest:
        return True
    FeatureNotSupported.write(
        world,
        feature=feature,
        feature_level=level,
        server=node,
        oldest_level=oldest,
        newest_level=newest,
    )
    return False


@inner_rule
def supports_finalized(world: Quorum, release: Software) -> bool:
    """Whether a broker with this release may register.

    Source: ClusterControlManager.processRegistrationFeature@3.9.0.
    """
    state = world.active_controller[0]
    level = world.metadata_versions[state.metadata_version].feature_level
    has_level = release.oldest_metadata_version <= level <= release.newest_metadata_version
    return has_level and state.elr_version <= release.newest_elr_version
