# SPDX-License-Identifier: Apache-2.0
"""The page: everything the signer must see is there, nothing foreign gets in, and it renders in a browser."""

from __future__ import annotations

import ast
import copy
import json
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from html import escape, unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonkit.checks.disclosure import Disclosure
from anonkit.errors import ReleaseFormatError
from anonkit.promises.anonymous_classes import Diversity, KAnonymity
from anonkit.promises.guarantee import BY_CONSTRUCTION, Check, NoGuarantee
from anonkit.randomness import SECURE, SEEDED
from anonkit.report.block_words import SHOWN_VALUES
from anonkit.report.charts import safe_text
from anonkit.report.document import build_report
from anonkit.report.page import SHOWN_BARS, label_legend, render_page
from anonkit.report.schemas import report_schema

Report = dict[str, Any]

LONG = "Q17b_please_indicate_all_that_apply_to_you_or_to_somebody_else_in_your_household_" * 2
INLINE = {"bdi", "wbr", "span", "i", "code", "strong"}
VOID = {"meta", "link", "br", "wbr", "col"}


# --- reports of every kind -----------------------------------------------------------------------------------


def _report(promise: Any, **more: Any) -> Report:
    given: dict[str, Any] = {
        "version": "0.1.0",
        "method": {
            "name": "rfka",
            "preset": None,
            "parameters": {"k": 10, "l": None},
            "paper": "P 2020",
            "summary": "S",
        },
        "promise": promise,
        "columns": [],
        "rows": {"in": 1000, "suppressed": 20, "suppressed_fraction": 0.02, "out": 980},
        "checks": [],
        "randomness": SECURE,
        "disclosure_risk": {},
        "details": {},
        "dataset": "adult",
        "domains_declared_by": None,
        "notes": [],
    }
    return build_report(**{**given, **more})


def _k_anonymous(**more: Any) -> Report:
    countries = [f"Country {at}" for at in range(41)]
    quasi = {"role": "quasi_identifier", "sensitive": False}
    columns = [
        {"name": "name", "role": "identifier", "sensitive": False, "action": "dropped", "reason": "never released"},
        {"name": "age", **quasi, "action": "generalized", "importance": 0.04, "values": ["< 30", ">= 30", None]},
        {"name": LONG, **quasi, "action": "generalized", "importance": -0.01, "values": ["a|" * 60 + LONG]},
        {
            "name": "native-country",
            **quasi,
            "action": "kept",
            "detail": "full",
            "importance": 0.02,
            "values": countries,
        },
        {"name": "occupation", **quasi, "action": "dropped", "importance": 0.03, "reason": "k does not hold"},
        *({"name": f"column {at}", **quasi, "action": "kept", "importance": 0.001} for at in range(8)),
        {"name": "income", "role": "target", "sensitive": True, "action": "kept"},
        {"name": "illness", "role": "sensitive", "sensitive": True, "action": "kept"},
    ]
    sensitive = {
        "income": {"l": 2.0, "entropy_l": 1.4, "t": 0.31, "alpha": 0.9, "recursive_c_2": 9.0},
        "illness": {"l": 1.0, "entropy_l": 1.0, "t": 0.55, "alpha": 1.0},
    }
    risk = Disclosure(
        rows=980, classes=9, k=12, people=None, class_sizes=((12, 5), (20, 2), (80, 1), (800, 1)), sensitive=sensitive
    )
    promise = KAnonymity(k=10, quasi_identifiers=("age", LONG), sensitive=("income",), diversity=Diversity(l=2, t=0.4))
    checks = [
        Check(name="k_anonymity", passed=True, observed=12, required=10),
        Check(name="l_diversity:income", passed=True, observed=2.0, required=2),
        Check(name="t_closeness:income", passed=True, observed=0.31, required=0.4),
        Check(name="identifiers_absent", passed=True, observed=0, required=0),
    ]
    utility = {
        "auc": {"value": 0.8712, "ci": [0.86, 0.88], "baseline": 0.91, "protocol": "held out"},
        "classification_performance": {"raw": 0.86, "released": 0.84, "model": "forest"},
        "discernibility": 12345,
    }
    given = {
        "columns": columns,
        "checks": checks,
        "disclosure_risk": risk.to_dict(0.2),
        "details": {"utility": utility, "search": {"steps": 61}},
        "notes": ["Column 'fnlwgt' looks like an identifier."],
    }
    return _report(promise, **{**given, **more})


class _Private:
    def __init__(self, kind: str, parameters: dict[str, Any]) -> None:
        self.block = {
            "kind": kind,
            "statement": "One record changes little.",
            "formal": "P[M(x) = y] <= exp(ε) P[M(x') = y]",
            "parameters": parameters,
            "unit": "one row",
            "adjacency": "replace-one",
            "assumptions": ["One row is one person."],
            "basis": BY_CONSTRUCTION,
            "not_protected": ["Repeated releases add up."],
        }

    def to_dict(self) -> Report:
        return self.block


def _local(**more: Any) -> Report:
    expenses = [{"name": "age", "epsilon": 0.5}, {"name": "job", "epsilon": 1.0986122886681098}]
    budget = {"epsilon": 1.6, "delta": 0.0, "per_attribute": expenses}
    columns = [{"name": "age", "role": "quasi_identifier", "action": "randomized", "epsilon": 0.5}]
    given = {"columns": columns, "details": {"budget": budget}, "domains_declared_by": "J. Doe, Data Protection"}
    return _report(_Private("local-dp", {"epsilon": 1.5986122886681098}), **{**given, **more})


def _central() -> Report:
    levels = [{"level": at, "part": "split", "epsilon": 0.2} for at in range(5)]
    details = {"budget": {"epsilon": 1.0, "delta": 1e-6, "per_level": levels}}
    columns = [{"name": "age", "role": "quasi_identifier", "action": "synthesized", "reason": "drawn from the forest"}]
    promise = _Private("central-dp", {"epsilon": 1.0, "delta": 1e-6})
    return _report(promise, columns=columns, details=details, rows={"in": None, "suppressed": None, "out": 990})


def _none() -> Report:
    columns = [
        {"name": "age", "role": "quasi_identifier", "action": "randomized", "detail": {"mechanism": "TRR", "mean": 1}}
    ]
    return _report(NoGuarantee(reason="Noise of this kind hides no outlier."), columns=columns, dataset=None)


REPORTS = {"k-anonymity": _k_anonymous, "local-dp": _local, "central-dp": _central, "none": _none}


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Report:
    """A report of each kind of promise."""
    return REPORTS[request.param]()


# --- reading a page ------------------------------------------------------------------------------------------


class _Page(HTMLParser):
    """The page as its elements and its text; fails on markup that is not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.style = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.pieces.append("" if tag in INLINE else " ")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.style += data
        else:
            self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    @property
    def alerts(self) -> int:
        return sum(attributes.get("role") == "alert" for _, attributes in self.elements)


def _page(report: Report) -> _Page:
    return _Page(render_page(report))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for one in value.values() for text in _strings(one))
    elif isinstance(value, list):
        yield from (text for one in value for text in _strings(one))


# --- what must be seen ---------------------------------------------------------------------------------------


def test_the_sample_reports_are_valid(report: Report) -> None:
    """These tests render what anonkit can write."""
    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(json.dumps(report)))


def test_claim_and_limits_come_first(report: Report) -> None:
    """The statement and every limit are before the formal part, in this order."""
    text = _page(report).text
    promise = report["guarantee"]
    places = [text.index(" ".join(part.split())) for part in (promise["statement"], *promise["not_protected"])]

    assert places == sorted(places)
    assert places[-1] < text.index("The promise, formally")


def test_no_text_of_the_report_is_left_out(report: Report) -> None:
    """Every text of the report is on the page; technical names may be put into words."""
    text = _page(report).text
    exempt = {report["format"], report["created"], report["randomness"], report["disclosure_risk"].get("basis")}
    exempt |= {promise["kind"] for promise in [report["guarantee"]]}
    exempt |= {check["name"] for check in report["verification"]["checks"]}
    exempt |= {column["role"] for column in report["columns"]} | {"full"}

    missing = [part for part in _strings(report) if part not in exempt and " ".join(part.split()) not in text]

    assert not missing


def test_a_secure_and_checked_release_raises_no_alarm() -> None:
    """No banner where there is nothing to warn of; the evidence is counted."""
    page = _page(_k_anonymous())

    assert page.alerts == 0
    assert "NOT FOR RELEASE" not in page.text
    assert "4 of 4 checks passed" in page.text


def test_the_receiver_reads_how_to_use_the_table() -> None:
    """The labels that columns show are explained; names that are code or HTML stay strings."""
    report = _k_anonymous()
    report["columns"][0].update(action="generalized", values=["[30, 40)", "*"])
    name, target = 'o"ut<b>', next(column["name"] for column in report["columns"] if column["role"] == "target")
    page = render_page(report, name=name)

    assert "from 30 up to 40, without 40" in page
    assert "ReleaseFeatures(" in page
    code = unescape(page.partition("pd.read_parquet(")[2].partition(")</code>")[0])
    assert ast.literal_eval(code) == f"{name}.parquet"
    assert ast.literal_eval(unescape(page.partition("model.fit(table, table[")[2].partition("])")[0])) == target
    kept, noisy = (
        render_page({**report, "columns": [{**column, "action": action} for column in report["columns"]]}, name="out")
        for action in ("kept", "randomized")
    )
    assert "ReleaseFeatures(" not in kept + noisy
    assert "anonkit reconstruct" not in page + kept
    assert "anonkit reconstruct out.parquet --test own.csv --predictions predictions.parquet" in noisy


def test_a_seeded_release_is_marked() -> None:
    """A seed is stated in a banner, in the title, and on every printed page."""
    page = _page(_k_anonymous(randomness=SEEDED))

    assert page.alerts == 1
    assert "Not for release" in page.text
    assert SEEDED in page.text
    assert page.text.startswith("NOT FOR RELEASE: Privacy report")
    assert ("body", {"class": "refused"}) in page.elements


def test_a_broken_promise_is_marked() -> None:
    """A failed check is stated in a banner, and nothing says that the promise was checked."""
    report = _k_anonymous()
    report["verification"]["checks"][0].update(passed=False, observed=4)
    page = _page(report)

    assert page.alerts == 1
    assert "The promise does not hold: 1 of 4 checks failed" in page.text
    assert "Rows in the smallest equivalence class: found 4, required at least 10" in page.text
    assert "Checked on the released table" not in page.text


@pytest.mark.parametrize("left_out", ["k_anonymity", "k_anonymity_people", "l_diversity:income", "t_closeness:income"])
def test_a_promise_without_its_check_is_marked(left_out: str) -> None:
    """A part of the promise that has to be checked and was not does not look as if it were."""
    promise = KAnonymity(
        k=10, quasi_identifiers=("age",), sensitive=("income",), diversity=Diversity(l=2, t=0.4), unit="person"
    )
    names = ("k_anonymity", "k_anonymity_people", "l_diversity:income", "t_closeness:income", "identifiers_absent")
    checks = [Check(name=name, passed=True, observed=1, required=1) for name in names if name != left_out]
    all_checks = [*checks, Check(name=left_out, passed=True, observed=1, required=1)]
    report, whole = ({**_k_anonymous(checks=some), "guarantee": promise.to_dict()} for some in (checks, all_checks))

    page = _page(report)

    assert page.alerts == 1
    assert "Not all of the promise was checked" in page.text
    assert "Checked on the released table" not in page.text
    assert _page(whole).alerts == 0


def test_no_guarantee_looks_like_none() -> None:
    """Without a promise nothing is ticked off as holding."""
    text = _page(_none()).text

    assert "No formal guarantee" in text
    assert "Nothing is claimed." in text
    assert "Holds by construction" not in text
    assert "Checked on the released table" not in text


def test_epsilon_is_rounded_up() -> None:
    """The figure beside the claim is no smaller than the loss promised, and neither is its exponential."""
    text = _page(_local()).text

    assert "ε = 1.59862" in text
    assert "× 4.95" in text  # exp(1.59861...) is 4.9461


def test_delta_is_stated_instead_of_the_factor() -> None:
    """With a delta no factor bounds every outcome, so none is shown."""
    text = _page(_central()).text

    assert "δ = 1e-06" in text
    assert "×" not in text


def test_the_page_names_who_vouches_for_the_domains() -> None:
    """A private release names the person, or says in red that there is none."""
    assert "J. Doe, Data Protection" in _page(_local()).text
    assert "nobody is named. The promise holds only if" in _page(_local(domains_declared_by=None)).text


def test_one_value_in_a_class_is_pointed_out() -> None:
    """Homogeneity is reported for the attribute it concerns, and only for that."""
    text = _page(_k_anonymous()).text

    assert "every row with a value has the same value of illness" in text
    assert "every row with a value has the same value of income" not in text


def test_people_are_distinguished_from_rows() -> None:
    """With a declared unit column the page counts people: classes, risks, the chart and its table."""
    report = _k_anonymous()
    assert "people in the smallest class" not in _page(report).text

    report["disclosure_risk"]["k_anonymity"]["people"] = 11
    report["disclosure_risk"]["counted"] = "people"

    text = _page(report).text
    assert "11 people in the smallest class found" in text
    assert "Nobody is alone in a class." in text
    assert "Sizes and risks count people, however many rows they have" in text
    for told in ("People at risk", "People by the size of their equivalence class", "People in the class"):
        assert told in text
    for rows in ("Records at risk", "Released records", "Rows in the class", "rows in the equivalence class"):
        assert rows not in text


def test_values_are_listed_up_to_a_limit() -> None:
    """Long lists are cut, and the page says by how much."""
    report = _k_anonymous()
    report["columns"][3]["values"] = [f"value-{at:03d}" for at in range(SHOWN_VALUES + 7)]
    text = _page(report).text

    assert f"value-{SHOWN_VALUES - 1:03d}" in text
    assert f"value-{SHOWN_VALUES:03d}" not in text
    assert "and 7 more" in text


def test_importances_are_drawn_in_order_and_capped() -> None:
    """The most important column is first; bars beyond the limit are in the table only."""
    report = _k_anonymous()
    many = [
        {"name": f"c{at:02d}", "role": "quasi_identifier", "action": "kept", "importance": at}
        for at in range(SHOWN_BARS + 5)
    ]
    report["columns"] = many
    page = render_page(report)
    chart = page[page.index('aria-labelledby="importance-title') :]
    bars = [name for name in (one["name"] for one in many) if f"<title>{name}: " in chart]

    assert chart.index(f"<title>c{SHOWN_BARS + 4}: ") < chart.index(f"<title>c{SHOWN_BARS + 3}: ")
    assert len(bars) == SHOWN_BARS
    assert "5 less important columns" in page


def test_nothing_is_plotted_of_what_is_not_published() -> None:
    """Without importances there is no chart, without a budget no budget, without classes no histogram."""
    text = _page(_none()).text

    assert "Importance of the columns" not in text
    assert "Privacy loss budget" not in text
    assert "by the size of their equivalence class" not in text


def test_budget_tables_name_levels_and_attributes() -> None:
    """The division of a budget is in a table with one row an expense, epsilon rounded up."""
    assert "Budget by level" in _page(_central()).text
    local = _page(_local()).text
    assert "Budget by attribute" in local
    assert "1.09862" in local


def test_blocks_the_page_does_not_know_are_shown() -> None:
    """A block that a method adds to the report is on the page."""
    text = _page(_k_anonymous()).text

    assert "How the recoding was found" in text
    assert "Steps 61" in text


def test_an_empty_release_has_a_page() -> None:
    """No rows and no columns leave a page, without a chart."""
    risk = Disclosure(rows=0, classes=0, k=0, people=None, class_sizes=())
    page = _page(_k_anonymous(columns=[], disclosure_risk=risk.to_dict(0.2), details={}))

    assert "0 rows released" in page.text
    assert "svg" not in {tag for tag, _ in page.elements}


def test_rendering_changes_nothing(report: Report) -> None:
    """The report is read only, and one report has one page."""
    before = copy.deepcopy(report)

    assert render_page(report) == render_page(copy.deepcopy(report))
    assert report == before


@settings(deadline=None)
@given(data=st.data())
def test_a_damaged_report_has_its_own_error(data: st.DataObject) -> None:
    """A block that is missing or of another kind is a ReleaseFormatError, or does no harm."""
    report = data.draw(st.sampled_from(list(REPORTS.values())))()
    block: Any = report
    while True:
        key = data.draw(st.sampled_from(sorted(block) if isinstance(block, dict) else range(len(block))))
        if not isinstance(block[key], dict | list) or not block[key] or data.draw(st.booleans()):
            break
        block = block[key]
    if data.draw(st.booleans()):
        del block[key]
    else:
        block[key] = data.draw(st.sampled_from([None, 0, 3.5, "x", [], {}, [1], {"a": 1}]))

    try:
        page = render_page(report)
    except ReleaseFormatError:
        return
    assert "What is not protected" in page


# --- what must not get in ------------------------------------------------------------------------------------


def test_the_page_loads_and_runs_nothing(report: Report) -> None:
    """No script, handler, inline style, form or reference to anything outside; ids are unique and resolve."""
    page = _page(report)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]

    assert not {tag for tag, _ in page.elements} & {"script", "iframe", "object", "embed", "form", "img", "base", "a"}
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "xlink:href")], tag
        assert str(attributes.get("href", "data:,")).startswith("data:"), tag
        for reference in str(attributes.get("aria-labelledby", "")).split():
            assert reference in ids
    assert len(ids) == len(set(ids))
    assert "url(" not in page.style
    assert "@import" not in page.style


def test_the_content_security_policy_allows_this_style_and_nothing_else(report: Report) -> None:
    """The hash in the policy is that of the style sheet in the page; everything else is forbidden."""
    page = _page(report)
    policy = next(str(a["content"]) for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")

    assert f"style-src 'sha256-{b64encode(sha256(page.style.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in policy


def _named(text: str) -> Report:
    """A report with one text wherever a text can come from the table, the policy or a method."""
    columns = [
        {
            "name": text, "role": "quasi_identifier", "action": "generalized", "reason": text, "detail": text + "!",
            "importance": 1, "values": [text, None], text: text,
        },
        {"name": text, "role": "target", "action": "kept"},
    ]  # fmt: skip
    risk = Disclosure(
        rows=12, classes=1, k=12, people=None, class_sizes=((12, 1),),
        sensitive={text: {"l": 1.0, "entropy_l": 1.0, "t": 0.0, "alpha": 1.0}},
    )  # fmt: skip
    return _k_anonymous(
        columns=columns,
        dataset=text,
        domains_declared_by=text,
        notes=[text],
        disclosure_risk=risk.to_dict(0.2),
        checks=[Check(name=f"k_anonymity:{text}", passed=False, observed=text, required=text)],
        details={"utility": {"measure": {"value": text, "protocol": text}}, "search": {"of": text}},
    )


@settings(deadline=None)
@given(
    text=st.text(st.characters(), min_size=1, max_size=24)
    | st.sampled_from(["</style><script>a()", '"><img src=x>', "{{ 7*7 }}"])
)
def test_untrusted_text_stays_text(text: str) -> None:
    """Names, labels and notes change no element of the page, whatever is in them, and can be read as they are."""
    assume(text not in ("name", "role", "action", "reason", "detail", "importance", "values"))  # would take its place
    assume(not label_legend([{"action": "generalized", "values": [text]}]))  # it would be explained below the table
    found, plain = _page(_named(text)), _page(_named("x"))

    def shape(page: _Page) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attributes)) for tag, attributes in page.elements if tag not in ("wbr", "details")]

    assert shape(found) == shape(plain)
    assert " ".join(safe_text(text).split()) in found.text
    page = render_page(_named(text))
    page.encode()
    assert safe_text(page) == page


def test_an_untrusted_label_is_explained_as_text() -> None:
    """A label of two values that are elements of a page makes none."""
    tags = {tag for tag, _ in _page(_named("<marquee>|<blink>")).elements}
    assert not tags & {"marquee", "blink"}


def test_the_page_is_cheap_to_import() -> None:
    """The template engine is loaded with the first page, not with the module."""
    heavy = {"jinja2", "duckdb", "pyarrow", "sklearn", "pandas"}
    code = f"import sys, anonkit.report.page; assert not {heavy} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


# --- in a browser --------------------------------------------------------------------------------------------

_PROBE = """<!DOCTYPE html><meta charset="utf-8"><body>{frames}<script>
addEventListener("load", () => {{
  const out = [...document.querySelectorAll("iframe")].map(frame => {{
    const view = frame.contentWindow, page = frame.contentDocument, root = page.documentElement;
    const claim = page.querySelector(".statement"), box = claim && claim.getBoundingClientRect();
    return {{
      loaded: view.performance.getEntriesByType("resource").length,
      overflow: root.scrollWidth - root.clientWidth,
      claim: claim && box.width > 0 && box.height > 0 && claim.checkVisibility() ? claim.innerText : null,
      styled: claim && view.getComputedStyle(page.querySelector(".card")).borderTopWidth,
    }};
  }});
  document.body.textContent = JSON.stringify(out);
}});
</script>"""


class _Recorder(SimpleHTTPRequestHandler):
    """Serves a folder and remembers what was requested."""

    asked: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        self.asked.add(self.path)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def _in_browser(folder: Path, pages: list[tuple[str, int]]) -> tuple[list[dict[str, Any]], set[str]]:
    """Render pages at some widths; return what the browser says of each, and what it asked the server for."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium is installed")
    frames = "".join(f'<iframe width="{width}" height="800" srcdoc="{escape(page)}"></iframe>' for page, width in pages)
    (folder / "probe.html").write_text(_PROBE.format(frames=frames), encoding="utf-8")
    quiet = "--no-first-run --disable-background-networking --disable-component-update --disable-sync --disable-quic"
    asked: set[str] = set()
    recorder = partial(type("_Fresh", (_Recorder,), {"asked": asked}), directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), recorder) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        done = subprocess.run(
            [
                chromium, "--headless", "--no-sandbox", "--disable-gpu", *quiet.split(),
                f"--user-data-dir={folder / 'profile'}", "--dump-dom", f"http://127.0.0.1:{server.server_port}/probe.html",
            ],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        server.shutdown()
    body = done.stdout[done.stdout.index("<body>") + len("<body>") : done.stdout.index("</body>")]
    found: list[dict[str, Any]] = json.loads(unescape(body))
    return found, asked


@pytest.mark.slow
@pytest.mark.browser
def test_the_page_renders_in_a_browser(tmp_path: Path) -> None:
    """At any width the claim is visible, nothing overflows sideways, and nothing is loaded; the probe can see both."""
    worst = _named("a<b|" * 300)
    shown = [
        (report, width) for report in (*(make() for make in REPORTS.values()), worst) for width in (360, 700, 1100)
    ]
    faulty = '<div style="width:2000px">wide</div><img src="control.png">'

    (*found, control), asked = _in_browser(
        tmp_path, [*((render_page(report), width) for report, width in shown), (faulty, 400)]
    )

    for (report, _), seen in zip(shown, found, strict=True):
        assert seen["claim"] == report["guarantee"]["statement"]
        assert seen["overflow"] == 0
        assert seen["loaded"] == 0
        assert seen["styled"] == "5px"  # the page's own policy lets its style sheet in
    assert control["overflow"] > 0
    assert control["loaded"] == 1
    assert asked - {"/favicon.ico"} == {"/probe.html", "/control.png"}


def test_an_infinite_epsilon_is_never_shown_as_a_bound() -> None:
    """No green verdict and no bounded risk where nothing bounds a whole row."""
    import anonkit
    from anonkit.datasets import bank_customers, bank_customers_policy

    report = anonkit.release(
        bank_customers(60, seed=1), method="ppnb", p_keep=0.5, policy=bank_customers_policy(), ledger=None
    ).report
    page = render_page(report)

    assert report["guarantee"]["parameters"]["epsilon"] == "inf"
    assert "Nothing is claimed for a whole row" in page
    assert "Holds by construction" not in page
    assert "is bounded by the ε above" not in page


def test_domains_read_from_the_table_are_a_condition() -> None:
    """A promise under a condition has no green verdict, and the questions to the reviewer name the columns."""
    report = _central()
    parameters = {**report["guarantee"]["parameters"], "domains_from_data": ["job", "town"]}
    conditional = {**report, "guarantee": {**report["guarantee"], "parameters": parameters}}

    assert "Holds by construction" in _page(report).text
    text = _page(conditional).text
    assert "Holds by construction" not in text
    assert "Holds only if the domains that were read from the table are public knowledge" in text
    assert "The domains of job, town were read from the table" in text
