"""A service that stands still, with a value wherever metrics look for one."""

from dataclasses import dataclass, replace

from tests.smkc.serve.delivery.parts import START, alert_at

from smkc.evidence.now import LoudVariable
from smkc.serve.config import Config
from smkc.serve.delivery import ReceiverStatus
from smkc.serve.rows import Verdict
from smkc.serve.store import Store
from smkc.serve.view import Health, LaneStatus, SelfTest, WatchStatus

LANE = LaneStatus(
    watch="shop",
    entity='check"out\n',
    phase="following",
    rows=500,
    series=17,
    last_time=START,
    lag=4_500,
    appeared=12,
    vanished=7,
    refused=3,
    latest=Verdict(
        number=499,
        time=START,
        score=9.0,
        p_value=1e-6,
        anomaly=1.75,
        cardinality=17,
        appeared=1,
        vanished=0,
        evidences={"level": 12.5, "presence": 0.25},
    ),
    alert=alert_at(),
    loudest=(
        LoudVariable(
            variable='cpu{pod="a"}', kind="level", p_value=1e-4, value=9.5, lower=1.0, upper=2.5
        ),
        LoudVariable(variable="requests_total", kind="jump", p_value=1e-3, value=700.0),
        LoudVariable(variable="gone", kind="presence", p_value=1e-2),
    ),
    self_test=SelfTest(
        verdict="partly",
        planted=24,
        caught=18,
        kinds={"spike": {"planted": 3, "caught": 2}, "wrong hour": {"planted": 21, "caught": 16}},
        rows=1_436,
    ),
)
WATCH = WatchStatus(
    name="shop",
    source="push",
    phase="following",
    errors={"source": 2, "decode": 1},
    late=5,
    duplicates=6,
    refused=8,
    infinite=10,
    inbox=9,
    lanes=(
        LANE,
        replace(LANE, entity="new", phase="collecting", latest=None, alert=None, self_test=None),
    ),
)
RECEIVERS = (
    ReceiverStatus(kind="webhook", name="pager", sent=4, failed=3, waiting=1, given_up=2),
    ReceiverStatus(kind="alertmanager", name="https://alerts.example:9093/hidden", sent=20),
    ReceiverStatus(kind="alertmanager", name="https://alerts.example:9093/b", failed=5, waiting=6),
)


@dataclass
class Still:
    """A service that stands still: what metrics ask of one, and no more."""

    config: Config
    store: Store
    status: WatchStatus = WATCH
    is_ready: bool = True
    told: tuple[ReceiverStatus, ...] = RECEIVERS

    def watches(self):
        return [self.status]

    def receivers(self):
        return self.told

    def health(self):
        return Health(ok=False, problems=("shop waits",))
