"""All questions, by their names, in the order in which a report answers them."""

from tidegauge.analysis.questions.availability import AVAILABILITY, LOST_RECORDS, UNAVAILABILITY
from tidegauge.analysis.questions.curves import CURVES
from tidegauge.analysis.questions.failovers import FAILOVER_BUDGET, RESTART_HEADROOM
from tidegauge.analysis.questions.first_divergence import FIRST_DIVERGENCE
from tidegauge.analysis.questions.notification_batching import NOTIFICATION_BATCHING
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.questions.rare_events import RARE_EVENTS
from tidegauge.analysis.questions.replication import HW_LAG_OVER_TIME, ISR_FLAPPING
from tidegauge.analysis.questions.seed_distributions import OVER_SEEDS
from tidegauge.analysis.questions.sweep import SWEEP

QUESTIONS: dict[str, Question] = {
    question.name: question
    for question in (
        AVAILABILITY,
        LOST_RECORDS,
        UNAVAILABILITY,
        FAILOVER_BUDGET,
        RESTART_HEADROOM,
        ISR_FLAPPING,
        NOTIFICATION_BATCHING,
        HW_LAG_OVER_TIME,
        SWEEP,
        CURVES,
        OVER_SEEDS,
        RARE_EVENTS,
        FIRST_DIVERGENCE,
    )
}
