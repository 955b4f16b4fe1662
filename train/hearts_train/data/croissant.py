"""The Croissant metadata of a dataset (mlcommons.org/croissant/1.0): what programs read of it."""

from __future__ import annotations

from typing import Any

from hearts_env import __version__
from hearts_train.data import tables
from hearts_train.data.options import DatasetOptions

_WORDS = (
    "citeAs column equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated "
    "replace samplingRate separator source subField transform"
)
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{word: f"cr:{word}" for word in _WORDS.split()},
}
"""What the words of the format stand for, as its specification gives it."""
_PARQUET = "application/x-parquet"
_KINDS = {"string": "sc:Text", "bool": "sc:Boolean", "float": "sc:Float", "double": "sc:Float"}


def croissant(facts: dict[str, Any], options: DatasetOptions) -> dict[str, Any]:
    """The metadata, as JSON-LD: every file with its SHA-256, every column with its meaning."""
    schemas = {"games": tables.games_schema(), "decisions": tables.decisions_schema(options)}
    files = {name: about for name, about in facts["files"].items() if name.endswith(".parquet")}
    distribution: list[dict[str, Any]] = [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "contentUrl": name,
            "contentSize": f"{about['bytes']} B",
            "encodingFormat": _PARQUET,
            "sha256": about["sha256"],
        }
        for name, about in files.items()
    ]
    distribution += [
        {
            "@type": "cr:FileSet",
            "@id": table,
            "name": table,
            "encodingFormat": _PARQUET,
            "includes": f"{table}/*.parquet",
        }
        for table in schemas
    ]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"hearts-{options.rules.name}".replace(" ", "-"),
        "description": f"{facts['games']:,} games of Hearts ({options.rules.name}) as players of "
        f"hearts-env played them: {', '.join(map(str, options.agents))}.",
        "license": "https://spdx.org/licenses/MIT.html",
        "creator": {"@type": "sc:Organization", "name": "hearts-env contributors"},
        "version": __version__,
        "citeAs": f"hearts-env {__version__}, {facts['command']}",
        "distribution": distribution if files else [],
        "recordSet": [_records(name, schema) for name, schema in schemas.items() if files],
    }


def _records(table: str, schema: Any) -> dict[str, Any]:
    """The columns of a table."""
    fields = []
    for column in schema:
        item = getattr(column.type, "value_type", None)
        kind = str(column.type if item is None else item)
        about = (column.metadata or {}).get(b"description", b"").decode()
        field = {"@type": "cr:Field", "@id": f"{table}/{column.name}", "name": column.name}
        field |= {"description": about, "dataType": _KINDS.get(kind, "sc:Integer")}
        field |= {"repeated": True} if item is not None else {}
        source = {"fileSet": {"@id": table}, "extract": {"column": column.name}}
        fields.append(field | {"source": source})
    return {"@type": "cr:RecordSet", "@id": f"{table}-rows", "name": table, "field": fields}
