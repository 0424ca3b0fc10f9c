"""All questions, by their names, in the order in which a report answers them."""

from tidegauge.analysis.questions.availability import AVAILABILITY
from tidegauge.analysis.questions.failover_budget import FAILOVER_BUDGET
from tidegauge.analysis.questions.first_divergence import FIRST_DIVERGENCE
from tidegauge.analysis.questions.hw_lag import HW_LAG_OVER_TIME
from tidegauge.analysis.questions.isr_flapping import ISR_FLAPPING
from tidegauge.analysis.questions.lost_records import LOST_RECORDS
from tidegauge.analysis.questions.notification_batching import NOTIFICATION_BATCHING
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.questions.restart_headroom import RESTART_HEADROOM
from tidegauge.analysis.questions.sweep import SWEEP
from tidegauge.analysis.questions.unavailability import UNAVAILABILITY

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
