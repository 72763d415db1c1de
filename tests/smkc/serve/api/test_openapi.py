"""The description: what it promises is what the service does, for any request it allows or forbids.

Schemathesis (https://schemathesis.io) makes the requests from the description itself.
"""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from smkc.serve.api.routes import ROUTERS

# What is in a pushed body (that columns have one length, say) is more than JSON Schema can state.
PUSHES = ("/api/v1/observations", "/api/v1/write", "/v1/metrics")

ROUTES = {
    (method, route.path): route
    for router in ROUTERS
    for route in router.routes
    for method in sorted(route.methods)
    if route.include_in_schema
}

# Requests an operation, of those that the description allows and of those that it forbids.
N_EXAMPLES = 12


def takes_something(route):
    asked = route.dependant.path_params + route.dependant.query_params
    return bool(asked or route.body_field or "requestBody" in (route.openapi_extra or {}))


WAYS = list(ROUTES)
WAYS_TO_ERR = [way for way, route in ROUTES.items() if takes_something(route)]


def ids(ways):
    return ["".join(way) for way in ways]


REFUSED = ("400", "401", "403", "404", "405", "406", "409", "415", "422", "428", "429")


@schemathesis.serializer("application/x-protobuf")
def protobuf(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode()


def schema_of(app, server):
    found = schemathesis.openapi.from_dict(app.openapi())
    found.config.update(base_url=server.url)
    # A body that is too long is refused with 413, before anybody looks at what is wrong with it.
    found.config.checks.negative_data_rejection.expected_statuses = [*REFUSED, "413"]
    return found


@pytest.fixture(scope="module")
def open_schema(open_app, open_server):
    return schema_of(open_app, open_server)


@pytest.fixture(scope="module")
def locked_schema(locked_app, locked_server):
    return schema_of(locked_app, locked_server)


def judge(operation, mode, n_examples=N_EXAMPLES, **further):
    @settings(max_examples=n_examples, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def each(case):
        left_out = [positive_data_acceptance] if operation.path in PUSHES else []
        case.call_and_validate(timeout=60, excluded_checks=left_out, **further)

    each()


@pytest.mark.parametrize(("method", "path"), WAYS, ids=ids(WAYS))
def test_what_the_description_allows(open_schema, method, path):
    judge(open_schema[path][method], GenerationMode.POSITIVE)


@pytest.mark.parametrize(("method", "path"), WAYS_TO_ERR, ids=ids(WAYS_TO_ERR))
def test_what_the_description_forbids(open_schema, method, path):
    judge(open_schema[path][method], GenerationMode.NEGATIVE)


@pytest.mark.parametrize(("method", "path"), WAYS, ids=ids(WAYS))
def test_what_tokens_are_said_to_be_needed_for(locked_schema, secrets, method, path):
    """Among others, the same request without its token must be refused (``ignored_auth``)."""
    headers = {"Authorization": f"Bearer {secrets['admin']}"}
    judge(locked_schema[path][method], GenerationMode.POSITIVE, 4, headers=headers)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), WAYS_TO_ERR, ids=ids(WAYS_TO_ERR))
def test_many_requests_of_either_kind(open_schema, method, path):
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        judge(open_schema[path][method], mode, 60)


def test_every_operation_is_explained(open_app, locked_app):
    for app in (open_app, locked_app):
        described = app.openapi()
        operations = [one for ways in described["paths"].values() for one in ways.values()]
        assert len(operations) == len(WAYS)
        for operation in operations:
            assert operation["summary"]
            assert operation["description"]
            assert operation["x-role"] in ("open", "read", "write", "admin")
            assert "422" not in operation["responses"] or "HTTPValidationError" not in str(
                operation["responses"]["422"]
            )
            is_closed = operation["x-role"] != "open" and app is locked_app
            assert ("security" in operation) == is_closed


def test_no_parameter_is_said_to_be_null(open_app):
    described = [
        parameter["schema"]
        for ways in open_app.openapi()["paths"].values()
        for operation in ways.values()
        for parameter in operation.get("parameters", ())
    ]
    assert {
        "type": "integer",
        "minimum": 0,
        "maximum": 253402300799999,
        "title": "Until",
    } in described
    assert "null" not in str(described)


def test_every_shape_that_is_taken_is_described(client, open_app):
    way = open_app.openapi()["paths"]["/api/v1/observations"]["post"]
    examples = way["requestBody"]["content"]["application/json"]["examples"]
    assert set(examples) == {"observations", "columns", "list"}
    told = [example["value"] for example in examples.values()]
    for body in (*told, [], {"observations": []}, {"time": [], "series": {}}):
        assert client.post("/api/v1/observations", json=body).status_code == 200


def test_the_description_is_served(client, open_app):
    assert client.get("/openapi.json").json() == open_app.openapi()
    for path in ("/docs", "/redoc", "/api/docs"):
        assert client.get(path).status_code == 404  # their scripts would come from elsewhere
