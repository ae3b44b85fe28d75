"""The page of benchmarks: every table that was agreed on, what was measured of it, and what was not, with the reason.

Nothing is measured here. A part of the benchmark (`bench.py`) leaves a document of records; the page is made of these
documents alone, so that a part can be run again without the others, and one that failed loses no other.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of the page."""

    name: str
    """Of the part that measures it: `--only NAME`."""
    title: str
    asked: str
    """The targets of anonkit, in words."""
    left_out: str | None = None
    """Why it is not measured; None where it is."""


SPEED = (
    Table(
        name="k-rr",
        title="Randomized response of eight columns in memory",
        asked="k-ary randomized response of 8 columns, secure generator, one core: 20 million rows a second or more.",
    ),
    Table(
        name="ppnb-release",
        title="A release of randomized answers, CSV to Parquet",
        asked="`release --method ppnb` of 1,000,000 rows of 9 columns: at most twice what pyarrow alone takes to read "
        "the CSV file and write Parquet (zstd), with verification, report and all files. Memory does not grow with "
        "rows: 50 million rows in 2 GB (`LARGE=1`).",
    ),
    Table(
        name="consumer",
        title="The receiver: naive Bayes of 1,000,000 randomized rows",
        asked="At most 1 s from the file, 0.1 s from its counts.",
    ),
    Table(
        name="rfka-time",
        title="Time of k-anonymous releases",
        asked="The whole command on Adult (48,842 rows, 14 attributes), process start included: `rfka` at most 0.2 "
        "times, `mondrian` 0.15 times the fit of scikit-learn's forest of 1,000 trees with `oob_score` on the same "
        "codes. On tables of 500 to 12,000 rows at most 2.5 s; `apply` of 500 rows at most 1.5 s.",
    ),
    Table(
        name="selection",
        title="The selection loop of rfka, 5 million rows",
        asked="Without the forest, 8 quasi-identifiers: at most 3 times one group-by of all eight in DuckDB.",
    ),
    Table(
        name="class-sizes",
        title="k, l, t and class sizes of a table",
        asked="At most 0.1 s on Adult.",
    ),
    Table(
        name="tree-times",
        title="Differentially private trees: fit and predict on Adult",
        asked="Processor time, imports apart: the default at most 0.3 s, presets of 25 trees of depth 5 at most 0.5 s.",
    ),
    Table(
        name="tree-growth",
        title="A differentially private tree of many rows",
        asked="At most (depth + 2) times one scan of the file with 14 histograms by class. One million rows; with "
        "`LARGE=1` ten million, on this machine and on Spark.",
    ),
    Table(
        name="release-times",
        title="Rows for any purpose, tables, truthful rows: time of a release",
        asked="Adult, 32,561 rows. `dp-marginals` learned and drawn in at most 0.5 s of the processor; the whole "
        "process, imports and all files included, in 2 s and 300 MB; of a million rows in 8 s.",
    ),
    Table(
        name="start",
        title="Start of the command",
        asked="`anonkit --help` in at most 0.1 s in all.",
    ),
    Table(
        name="counting",
        title="k over 8 columns and 14 histograms by class, 5 million rows",
        asked="At most 1.2 times DuckDB by hand, memory under its cap of 400 MB.",
    ),
)
UTILITY = (
    Table(
        name="k-anonymous",
        title="k-anonymous releases of Adult, k = 10",
        asked="AUC of a random forest on the released cells of the usual 8 quasi-identifiers, suppressed rows scored "
        "too (as `*`); all labels chose the recoding and score it. Above every peer that pip installs.",
    ),
    Table(
        name="held-out",
        title="The same, held out",
        asked="Half of the labels chooses the recoding, the other half scores it. 8 quasi-identifiers: `rfka` at least "
        ".870 with at most 1 % suppressed, `mondrian` at least .878 with none. All 14: `rfka` at least .895 with at "
        "most 1 %, .880 with none.",
    ),
    Table(
        name="published-rfka",
        title="The published preset of rfka against greedy-hamdist",
        asked="AUC of the paper's SVM at least that of `greedy-hamdist` at every k, on both data sets.",
    ),
    Table(
        name="dp-adult",
        title="Differential privacy on Adult (pure ε), 32,561 / 16,281 rows",
        asked="Accuracy and AUC of `dp-forest` as it comes, and of a forest that a receiver trains on the released "
        "rows; the majority is .7638.",
    ),
    Table(
        name="dp-car",
        title="Differential privacy on Car (four classes)",
        asked="Accuracy over repeated five folds: at least .79 at ε = .5 and .82 at 1; the majority is .700.",
    ),
    Table(
        name="dp-tables",
        title="Differential privacy on other tables, ε = 1",
        asked="At least the better of a plain private Gini tree (the best of three depths) and a plain private naive "
        "Bayes, in accuracy and in AUC.",
    ),
    Table(
        name="dp-left-out",
        title="Differential privacy on tables that chose nothing",
        asked="Three constants of `dp-forest` are chosen on all tables but one, which reports: at least the better of "
        "`dp-nb`, a plain private Gini tree of depth 4 and a plain private naive Bayes, in accuracy and in AUC; at "
        "epsilon 1 diffprivlib's models and DP-EBM ((ε, δ), two classes) stand beside.",
    ),
    Table(
        name="dp-rows",
        title="Rows for a receiver who trains on them, Adult, ε = 1",
        asked="AUC of a random forest trained on the released rows, asked on true rows. dpmm promises (ε, δ), which is "
        "weaker than the pure ε of `dp-forest`.",
    ),
    Table(
        name="dp-marginals",
        title="Rows for any purpose, Adult",
        asked="`dp-marginals`, pure ε, 15 columns, numbers in 16 public bins, income declared as target: mean total "
        "variation distance of the tables of all 105 pairs and of 200 triples of columns, at most .095 and .165 at "
        "ε = .1, .045 and .092 at .5, .036 and .079 at 1, .024 and .059 at 3 (.038 and .085 at 1 with no target); AUC "
        "of income on true rows, the best of a forest, logistic regression and boosting trained on released rows, at "
        "least .86, .888, .895, .902. At every ε at most .005 behind noisy independent columns. MST, AIM and SWIFT "
        "promise (ε, δ), which is weaker.",
    ),
    Table(
        name="dp-marginals-tables",
        title="Rows for any purpose, two more tables",
        asked="Car (1,728 × 7) and breast cancer (699 × 10), the same measures: at most .005 behind noisy independent "
        "columns at every ε, level with MST at 1.",
    ),
    Table(
        name="randomized",
        title="Randomized response",
        asked="The published figures reached (PPNB, p_0 = .35, a ~ N(1, 1): 80.9 % on simulated customers, 81.9 % on "
        "Adult, in three digits); TRR centred on public bounds at least 84 % where the published form falls to 50 %; "
        "at one ε of a row (.5) the ladder rises: all attributes, one attribute a row, a trusted owner's counts.",
    ),
    Table(
        name="other-tables",
        title="k-anonymity on other tables, k = 10",
        asked="Half A chooses, half B scores, mean over three halvings: never more than .003 behind boxes of a tree "
        "that sees the labels. The tables of the target are held back by those who set it; these are others.",
    ),
)
PROOF = (
    Table(
        name="bounds",
        title="ε from below",
        asked="A lower bound from answers to neighbouring inputs (99.9 % confidence): never above the claim, and at "
        "least .7 of it.",
    ),
    Table(
        name="attacks",
        title="Attacks by the owner",
        asked="No figure was asked for: anonkit's attacks beside anonymeter's on the same released rows.",
    ),
    Table(
        name="proofs",
        title="What tests show",
        asked="",
        left_out="exact distributions of every mechanism, repeated noise, recounted k, l, t, awkward tables, kills at "
        "any moment and planted values are tests: `tests/mechanisms`, `tests/test_randomness.py`, `tests/checks`, "
        "`tests/test_awkward_tables.py`, `tests/test_kill.py`, `tests/test_no_leak.py`.",
    ),
)
SECTIONS: Mapping[str, tuple[Table, ...]] = {
    "Speed and memory": SPEED,
    "Utility at a given promise": UTILITY,
    "Promises": PROOF,
}
TABLES = tuple(table for tables in SECTIONS.values() for table in tables)
FEW = 3
"""Missed targets of one table that the summary lists; all of them are in the table."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One line of a table: what was measured of anonkit, and of one other in the same run."""

    what: str
    unit: str = ""
    """Of both figures; empty for scores, which are shown with four digits."""
    ours: float | None
    peer: str = ""
    theirs: float | None = None
    ratio: float | None = None
    """The median of the ratios ours / theirs of the rounds; without it the ratio of the figures."""
    limit: str | None = None
    """A target: `ours <= 0.1`, `ours >= 20`, `ratio <= 2`, `lead >= -0.003`; a lead is ours less theirs."""
    runs: int = 1
    note: str = ""
    spread: float | None = None
    """Standard deviation of one run of ours; shown in brackets."""
    their_spread: float | None = None

    @property
    def shown_ratio(self) -> float | None:
        """The ratio ours / theirs."""
        if self.ratio is not None or self.ours is None or not self.theirs:
            return self.ratio
        return self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Return whether the target was reached; None without a target or a measurement."""
        if self.limit is None:
            return None
        what, relation, text = self.limit.split()
        lead = None if self.ours is None or self.theirs is None else self.ours - self.theirs
        found = {"ours": self.ours, "ratio": self.shown_ratio, "lead": lead}[what]
        if found is None:
            return None
        return found <= float(text) if relation == "<=" else found >= float(text)


@dataclass(frozen=True, kw_only=True)
class Missing:
    """A peer that is not in this run, or a line that was not measured."""

    what: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """The results of one part of the benchmark."""

    name: str
    date: str
    load: float
    """Processes that wanted a processor when it began, of anybody."""
    seconds: float
    size: str
    """quick, full or large."""
    records: Sequence[Record] = ()
    missing: Sequence[Missing] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of anonkit, Python and every peer that was run."""
    machine: Mapping[str, str] = field(default_factory=dict)
    failed: str | None = None
    """Why the part did not end well; what it had measured before is in `records`."""

    @property
    def says_much(self) -> bool:
        """Return whether the sizes suffice to judge targets: small sizes show only that the part runs."""
        return self.size != "quick"

    def to_json(self) -> str:
        """Return the document."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Part:
        """Read a document."""
        document = json.loads(text)
        document["records"] = [Record(**one) for one in document["records"]]
        document["missing"] = [Missing(**one) for one in document["missing"]]
        return cls(**document)


def parts_in(folder: Path) -> dict[str, Part]:
    """Return what the parts of earlier runs left in a folder, by name."""
    found = (Part.from_json(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json")))
    return {part.name: part for part in found}


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The results of an earlier page for a table of which this machine has none."""

    section: str
    """From its heading to the line that says when it was measured."""
    row: str
    """Of the summary; empty where nothing was judged."""

    @property
    def judged(self) -> tuple[int, int]:
        """Targets met, and targets."""
        found = re.match(r"\| \[[^]]*\]\([^)]*\) \| (\d+) \| (\d+) \|", self.row)
        return (int(found[1]), int(found[2])) if found else (0, 0)


def kept_of(page: str) -> dict[str, Kept]:
    """Return the measured tables of a page, by name."""
    found = {}
    for table in TABLES:
        section = re.search(rf"^### {re.escape(table.title)}\n.*?^Measured .*?$", page, re.M | re.S)
        if section is not None and "\n#" not in section[0]:
            row = re.search(rf"^\| \[{re.escape(table.title)}\]\(.*$", page, re.M)
            found[table.name] = Kept(section=section[0], row="" if row is None else row[0])
    return found


def page(parts: Mapping[str, Part], earlier: str = "") -> str:
    """Return the page: a summary, how it was measured, then every table.

    Tables without a part are those of an earlier page, as they are on the page.
    """
    kept = {name: table for name, table in kept_of(earlier).items() if name not in parts}
    return "\n".join(_lines(parts, kept, earlier if kept else "")) + "\n"


def _lines(parts: Mapping[str, Part], kept: Mapping[str, Kept], earlier: str) -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield "<!-- written by `make bench`: edit recipes/benchmarks/benchmark_page.py instead -->"
    yield ""
    yield (
        "What anonkit has to reach, beside the best peers that pip installs, each in an environment of its own. Times "
        "depend on the machine and on what else runs there: **compare ratios within a table**, which was measured in "
        "one run. A ratio is anonkit's figure divided by the other's."
    )
    yield ""
    yield from _summary(parts, kept)
    yield from _machine(parts, earlier)
    if kept:
        yield (
            f"Of {len(kept)} tables there are no results here but those of an earlier page: they may be of another "
            "machine and of rules before today's; each says when it was measured."
        )
        yield ""
    for section, tables in SECTIONS.items():
        yield f"## {section}"
        yield ""
        for table in tables:
            if table.name in kept:
                yield kept[table.name].section
                yield ""
            else:
                yield from _table(table, parts.get(table.name))
    yield from _how()


def _summary(parts: Mapping[str, Part], kept: Mapping[str, Kept]) -> Iterator[str]:
    """Yield how many targets were met, table by table, and name those that were missed where they are few."""
    whole = [(table, parts[table.name]) for table in TABLES if table.name in parts and parts[table.name].says_much]
    judged = {table: [one for one in part.records if one.met is not None] for table, part in whole}
    missed = {table: [one for one in records if not one.met] for table, records in judged.items()}
    total, short = (sum(map(len, lines.values())) for lines in (judged, missed))
    met = total - short + sum(table.judged[0] for table in kept.values())
    total += sum(table.judged[1] for table in kept.values())
    yield f"Targets met: **{met}** of {total} that were measured; a line that missed one says so in its table."
    yield ""
    if total:
        yield "| table | met | of | missed |"
        yield "| --- | --- | --- | --- |"
        for table in TABLES:
            records = judged.get(table)
            if table.name in kept and kept[table.name].row:
                yield kept[table.name].row
            elif records:
                told = "; ".join(f"{one.what}: {_figure(one)}, asked {_limit(one)}" for one in missed[table][:FEW])
                more = f"; **{len(missed[table]) - FEW} more**" if len(missed[table]) > FEW else ""
                cells = (f"[{table.title}](#{_anchor(table.title)})", len(records) - len(missed[table]), len(records))
                yield f"| {' | '.join(map(str, cells))} | {_cell(told)}{more} |"
        yield ""
    known = {table.name for table, part in whole if part.records} | set(kept)
    unmeasured = [table for table in TABLES if table.left_out is None and table.name not in known]
    if unmeasured:
        links = ", ".join(f"[{table.title}](#{_anchor(table.title)})" for table in unmeasured)
        yield f"**Not measured yet, or with small sizes alone:** {links}."
        yield ""


def _machine(parts: Mapping[str, Part], earlier: str) -> Iterator[str]:
    told = [", ".join(f"{key} {value}" for key, value in part.machine.items()) for part in parts.values()]
    before = re.search(r"^Versions: (.*)\.$", earlier, re.M)
    versions = dict(one.rsplit(" ", 1) for one in before[1].split(", ")) if before else {}
    for part in parts.values():
        versions |= part.versions
    for machine in dict.fromkeys([*re.findall(r"^Machine: (.*)\.$", earlier, re.M), *told]):
        yield f"Machine: {machine}."
    if versions:
        yield ""
        yield "Versions: " + ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) + "."
    yield ""


def _table(table: Table, part: Part | None) -> Iterator[str]:
    yield f"### {table.title}"
    yield ""
    if table.left_out is not None:
        yield f"Left out: {table.left_out}"
        yield ""
        return
    yield table.asked
    yield ""
    if part is None:
        yield f"Not measured yet: `make bench ONLY={table.name}`."
        yield ""
        return
    if part.records:
        yield "| what | anonkit | beside it | its figure | ratio | asked | reached |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        yield from (_row(one, part.says_much) for one in part.records)
        yield ""
    notes = list(dict.fromkeys(one.note for one in part.records if one.note))
    yield from (f"* {note}" for note in notes)
    yield from (f"* **Not in this run:** {_cell(one.what)}: {_cell(one.reason)}" for one in part.missing)
    if part.failed is not None:
        yield f"* **The part did not end:** {_cell(part.failed)}"
    if notes or part.missing or part.failed is not None:
        yield ""
    size = "" if part.size == "full" else f", **{part.size}** sizes"
    runs = sorted({one.runs for one in part.records})
    medians = f"; medians or means of {', '.join(map(str, runs))} runs" if runs and runs != [1] else ""
    yield (
        f"Measured {part.date}{size}, load {part.load:.1f} at its begin, {part.seconds:.0f} s in all{medians}. "
        f"`make bench ONLY={table.name}`"
    )
    yield ""


def _row(one: Record, is_judged: bool) -> str:
    verdict = {True: "met", False: "**MISSED**", None: ""}[one.met if is_judged else None]
    ratio = "" if one.shown_ratio is None else _digits(one.shown_ratio)
    theirs = _number(one.theirs, one.unit) + _spread(one.their_spread) if one.peer else ""
    cells = (
        one.what,
        _number(one.ours, one.unit) + _spread(one.spread),
        one.peer,
        theirs,
        ratio,
        _limit(one),
        verdict,
    )
    return f"| {' | '.join(map(_cell, cells))} |"


def _spread(spread: float | None) -> str:
    return "" if spread is None else f" ({spread:.3f})"


def _figure(one: Record) -> str:
    """Return the figure that was judged."""
    if one.limit is not None and one.limit.startswith("ratio"):
        return "no ratio" if one.shown_ratio is None else f"ratio {_digits(one.shown_ratio)} to {one.peer}"
    if one.limit is not None and one.limit.startswith("lead"):
        return f"{_number(one.ours, one.unit)} beside {_number(one.theirs, one.unit)} of {one.peer}"
    return _number(one.ours, one.unit)


def _limit(one: Record) -> str:
    if one.limit is None:
        return ""
    what, relation, text = one.limit.split()
    sign = "≤" if relation == "<=" else "≥"
    if what == "lead":
        if relation == "<=":  # less is better
            return "level or below" if float(text) == 0 else f"at most {text} above"
        behind = -float(text)
        return "level or ahead" if behind == 0 else f"at most {behind:g} behind" if behind > 0 else f"ahead by {text}"
    if what == "ratio":
        return f"{sign} {text} x"
    return f"{sign} {text} {one.unit}".strip()


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞"
    if not unit:
        return f"{value:.4f}"
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    """Return three digits that count, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _anchor(title: str) -> str:
    """Return the anchor that Markdown gives to a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.strip().replace(" ", "-")


def _how() -> Iterator[str]:
    yield "## How to run it"
    yield ""
    yield "| command | measures |"
    yield "| --- | --- |"
    yield "| `make bench` | all but what says `LARGE=1`: about 45 minutes on two cores |"
    yield '| `make bench ONLY="k-rr start"` | these tables; the others stay as they were |'
    yield "| `make bench LARGE=1` | 50 million rows through `ppnb`, ten million through `dp-forest` and Spark too |"
    yield "| `make bench QUICK=1` | small sizes, to see whether it runs: its figures say nothing |"
    yield (
        "| `make bench-compare` | the timed tables by this tree and by an earlier commit in turn, and what got worse: "
        "the last tag, or `AGAINST=REF` |"
    )
    yield ""
    yield (
        "Public tables (Adult, Car, Breast Cancer Wisconsin) are read from `../shared/data`. Every peer is installed "
        "into an environment of its own under `.benchmarks`, with the versions of "
        "`recipes/benchmarks/peers/NAME/constraints.txt`; one that cannot be installed or run is named in its table "
        "with the reason. Each part runs in a process of its own and leaves a file in `.benchmarks/results`, of which "
        "this page is made: a part that fails loses no other, and the exit code is 1 when one failed."
    )
    yield ""
    yield from _by_hand()


def _by_hand() -> Iterator[str]:
    """Yield the measurements that `make bench` does not run: every other script of the folder, by its first line."""
    yield "## Measured by hand"
    yield ""
    yield "Longer ones, whose figures stand on the pages of their subjects: `python recipes/benchmarks/NAME.py`."
    yield ""
    yield "| script | what it measures |"
    yield "| --- | --- |"
    for script in sorted(Path(__file__).parent.glob("*.py")):
        if not script.stem.startswith(("__", "bench", "measured_")):
            told = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
            yield f"| `{script.name}` | {_cell(told.splitlines()[0].partition(';')[0].rstrip('.'))} |"
