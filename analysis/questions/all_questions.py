"""All questions, by their names, in the order in which a report answers them."""

from tidegauge.analysis.questions.availability import AVAILABILITY, LOST_RECORDS, UNAVAILABILITY
from tidegauge.analysis.questions.failovers import FAILOVER_BUDGET, RESTART_HEADROOM
from tidegauge.analysis.questions.first_divergence import FIRST_DIVERGENCE
from tidegauge.analysis.questions.notification_batching import NOTIFICATION_BATCHING
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.questions.replication import HW_LAG_OVER_TIME, ISR_FLAPPING
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
        FIRST_DIVERGENCE,
    )
}
