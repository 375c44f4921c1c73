"""What Schemathesis has to know of valid requests beside the OpenAPI document, since no JSON Schema can say it.

Requests that are to be refused stay as they are. Every check runs.
"""

import uuid

import schemathesis
from schemathesis import GenerationMode

FILTERS_MAX = 32
RELATED_FILTERS_MAX = 8
# Of the target's 3 KiB, percent-encoded, with names and signs.
QUERY_LENGTH_MAX = 2_500
# A text property of each resource that every key here may set.
TEXTS = {"/Absences": "reason", "/Companies": "name", "/Employees": "firstName"}
PAGING = {"sort", "PageSize", "page", "cursor"}


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.headers:
        # Its stateful phase takes the id of a row for that of a request, and then cannot send the number.
        case.headers.update({name: str(value) for name, value in case.headers.items() if isinstance(value, int)})
    meta = case.meta
    if meta is not None and meta.generation.mode == GenerationMode.POSITIVE:
        meet_conditions(case.headers or {})
    if meta is not None and isinstance(case.query, dict) and is_valid_query(meta):
        limit_query(case.query)
        if is_filtered_write(case):
            require_filter(case.query)
    if meta is None or meta.generation.mode != GenerationMode.POSITIVE:
        return
    for row in case.body if isinstance(case.body, list) else [case.body]:
        if isinstance(row, dict):
            order_dates(row, case.operation.method.upper())
            row.update(rounded(row))
    if is_filtered_write(case) and isinstance(case.body, dict):
        require_value(case.body, case.operation.path)


def is_valid_query(meta):
    # A request may be invalid for another part, such as a header that it lacks.
    modes = [info.mode for kind, info in meta.components.items() if kind.value == "query"]
    return modes == [GenerationMode.POSITIVE] or meta.generation.mode == GenerationMode.POSITIVE


def meet_conditions(headers):
    # Only the server knows the version of a row, and a key is for one request.
    if "If-Match" in headers:
        headers["If-Match"] = "*"
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = str(uuid.uuid4())
    # Where it has no example of a pattern, it makes a 0, or nothing if the schema has its pattern before its type.
    if headers.get("If-None-Match") in ("0", ""):
        headers["If-None-Match"] = '"0"'


def limit_query(query):
    # How a CSV is written belongs to `Accept: text/csv`, which is not sent.
    for name in ("bom", "excel"):
        if query.get(name) == "1":
            query[name] = "0"
    query.pop("locale", None)
    # Only the server can make a cursor, and it belongs to one list.
    query.pop("cursor", None)
    # The same of a change; and behind the last one a request waits, for up to 30 seconds.
    if "after" in query:
        query["after"] = "now"
        query.pop("wait", None)
    # There may be 8 filters by a path or by [under], 32 in all, and a target of 3 KiB.
    related = [name for name in query if "Id." in name or name.endswith("[under]")]
    while count(query, related) > RELATED_FILTERS_MAX:
        query.pop(related.pop())
    names = [name for name in query if name not in PAGING]
    while names and (count(query, names) > FILTERS_MAX or encoded_length(query) > QUERY_LENGTH_MAX):
        query.pop(names.pop())


def is_filtered_write(case):
    return case.operation.method.upper() in ("PATCH", "DELETE") and "{" not in case.operation.path


def require_filter(query):
    """A write of several rows needs a filter of any property, and `may` is none. No row has this id."""
    if not set(query) - {"may"}:
        query["Id"] = "0"


def require_value(body, path):
    """A change of several rows that sets nothing is refused; a part of a row without properties sets nothing."""
    if not any(value != {} for value in body.values()):
        body[TEXTS[path]] = "a text"


def count(query, names):
    return sum(len(query[name]) if isinstance(query[name], list) else 1 for name in names)


def encoded_length(query):
    # A byte becomes three characters at most.
    return sum(len(name) + 3 * len(str(value).encode("utf-8", "surrogatepass")) for name, value in query.items())


def order_dates(body, method):
    """An absence does not end before it starts; a PATCH of one of the two meets what is stored."""
    if method == "PATCH" and ("start" in body) != ("end" in body):
        body.pop("start", None)
        body.pop("end", None)
    if body.get("start") is not None and body.get("end") is not None:
        body["end"] = body["start"]


def rounded(value):
    """The schema says in words alone that a decimal has eight digits behind the point: `multipleOf` is of binary floats."""
    if isinstance(value, float):
        return round(value, 8)
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return value
