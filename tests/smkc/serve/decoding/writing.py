"""What a sender of remote write 1.0 does: samples -> a body."""

import cramjam
import numpy as np

from smkc.recording import parse
from smkc.serve.decoding.remote_write import WriteRequest


def encode_remote_write(samples):
    """Return samples as a body, with each series' readings in order of time."""
    request = WriteRequest()
    order = np.lexsort((samples.times, samples.codes))
    for code, name in enumerate(samples.names):
        metric, labels = parse(name) or (name, {})
        if metric:
            labels["__name__"] = metric
        series = request.timeseries.add()
        for label in sorted(labels):
            series.labels.add(name=label, value=labels[label])
        for at in order[samples.codes[order] == code]:
            series.samples.add(value=samples.values[at], timestamp=samples.times[at])
    return bytes(cramjam.snappy.compress_raw(request.SerializeToString()))
