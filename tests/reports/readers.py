"""Read reports with programs of other people: `readers.py SCHEMA JUNIT TAP JSON`.

Exits with an error that says what is wrong with a report; prints a line for each reader. See README.md.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as etree
from collections import Counter

import xmlschema
from junitparser import Error, Failure, JUnitXml, Skipped
from ruamel.yaml import YAML
from tap.parser import Parser

XS = "{http://www.w3.org/2001/XMLSchema}"
KINDS = {Failure: "failure", Error: "error", Skipped: "skipped"}


def extended(path: str) -> xmlschema.XMLSchema:
    """The schema with the three additions."""
    root = etree.parse(path).getroot()
    types = {element.get("name"): element.find(XS + "complexType") for element in root.findall(XS + "element")}
    case = types["testcase"]
    etree.SubElement(case, XS + "attribute", name="file", type="xs:string")
    choice = case.find(XS + "sequence").find(XS + "choice")
    etree.SubElement(choice, XS + "element", ref="properties")
    etree.SubElement(types["testsuites"], XS + "attribute", name="skipped", type="xs:string")
    text = etree.tostring(root, encoding="unicode")
    return xmlschema.XMLSchema(text.replace("ns0:", "xs:").replace("xmlns:ns0", "xmlns:xs"))


def read_junit(schema: str, path: str, document: dict) -> None:
    """Validate the file, then compare what a parser finds with the document."""
    extended(schema).validate(path)
    print("schema: valid")
    suites = {suite.name: suite for suite in JUnitXml.fromfile(path)}
    found: Counter[str] = Counter()
    names = set()
    for suite in suites.values():
        for case in suite:
            results = [KINDS[type(result)] for result in case.result] or ["passed"]
            assert len(results) == 1, (case.name, results)
            found[results[0]] += 1
            assert (case.classname, case.name) not in names, case.name
            names.add((case.classname, case.name))
        kinds = Counter(KINDS[type(result)] for case in suite for result in case.result)
        counts = (suite.failures, suite.errors, suite.skipped)
        assert counts == (kinds["failure"], kinds["error"], kinds["skipped"]), suite.name
        assert suite.tests == len(list(suite)), suite.name
    tests = [check["tests"] for check in document["checks"] if check["tests"]]
    others = sum(check["tests"] is None for check in document["checks"])
    expected = sum(len(suite["tests"]) + len(suite["collect_errors"]) for suite in tests) + others
    assert sum(found.values()) == expected, (found, expected)
    print("junitparser: %d cases, %s" % (expected, dict(sorted(found.items()))))


def read_tap(path: str, document: dict) -> None:
    """Compare what a parser finds on the outermost level with the document; read all the YAML."""
    lines = list(Parser().parse_file(path))
    points = [line for line in lines if line.category == "test"]
    oks = [point.ok for point in points]
    assert oks == [check["outcome"] in ("pass", "skipped") for check in document["checks"]], oks
    skips = [bool(point.skip) for point in points]
    assert skips == [check["outcome"] == "skipped" for check in document["checks"]], skips
    assert not [line for line in lines if line.category == "bail"]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    blocks = 0
    for indent in ("  ", "      "):
        start, end = "\n%s---\n" % indent, "\n%s...\n" % indent
        for part in text.split(start)[1:]:
            block = YAML(typ="safe", pure=True).load(part.split(end)[0])
            assert isinstance(block["fuel"] if "fuel" in block else block["message"], (int, str))
            blocks += 1
    tests = [check["tests"] for check in document["checks"] if check["tests"]]
    inner = sum(len(suite["tests"]) + len(suite["collect_errors"]) for suite in tests)
    assert blocks == len(points) + inner, (blocks, len(points), inner)
    print("tap.py: %d points, %d inner ones, %d blocks of YAML" % (len(points), inner, blocks))


def main() -> None:
    """Read both reports."""
    schema, junit, tap, verdict = sys.argv[1:]
    with open(verdict, encoding="utf-8") as file:
        document = json.load(file)
    read_junit(schema, junit, document)
    read_tap(tap, document)


if __name__ == "__main__":
    main()
