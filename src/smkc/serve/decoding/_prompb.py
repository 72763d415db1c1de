"""Prompb: protobuf classes for the messages of Prometheus' remote write, 1.0 and 2.0.

Out: message classes with the fields that smkc reads and writes. Other fields (exemplars,
histograms, metadata) are left out; protobuf skips them.

The schemas are prometheus/prompb/types.proto and prompb/io/prometheus/write/v2/types.proto.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto

# A field is "name number type". "*" marks a repeated field; a message type is given by its name.
_SCHEMAS: dict[str, dict[str, tuple[str, ...]]] = {
    "prometheus": {
        "Label": ("name 1 string", "value 2 string"),
        "Sample": ("value 1 double", "timestamp 2 int64"),
        "TimeSeries": ("labels 1 Label*", "samples 2 Sample*"),
        "WriteRequest": ("timeseries 1 TimeSeries*",),
    },
    "io.prometheus.write.v2": {
        "Sample": ("value 1 double", "timestamp 2 int64"),
        "TimeSeries": ("labels_refs 1 uint32*", "samples 2 Sample*"),
        "Request": ("symbols 4 string*", "timeseries 5 TimeSeries*"),
    },
}

_TYPES = {
    "double": _Field.TYPE_DOUBLE,
    "int64": _Field.TYPE_INT64,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
}


def _classes(package: str) -> dict[str, Any]:
    """Return the message classes of a package, in a pool of its own."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"smkc/{package}.proto", package=package, syntax="proto3"
    )
    for name, fields in _SCHEMAS[package].items():
        message = file.message_type.add(name=name)
        for text in fields:
            field_name, number, kind = text.split()
            field = message.field.add(name=field_name, number=int(number))
            field.label = _Field.LABEL_REPEATED if kind[-1] == "*" else _Field.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            field.type = _TYPES.get(kind, _Field.TYPE_MESSAGE)
            if kind not in _TYPES:
                field.type_name = f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in _SCHEMAS[package]
    }


_v1, _v2 = _classes("prometheus"), _classes("io.prometheus.write.v2")

TimeSeries: Any = _v1["TimeSeries"]
WriteRequest: Any = _v1["WriteRequest"]
TimeSeriesV2: Any = _v2["TimeSeries"]
RequestV2: Any = _v2["Request"]
