from tidegauge.calibration.broker_lives import BROKER_LIVES
from tidegauge.calibration.controller_work import CONTROLLER_WORK
from tidegauge.calibration.state_changes import STATE_CHANGES
ESTIMATORS=(*BROKER_LIVES,*STATE_CHANGES,*CONTROLLER_WORK)
