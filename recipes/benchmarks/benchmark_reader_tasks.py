"""The page of a reader's tasks: tables of errors, leads over peers, every miss by name; nothing is measured here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from reader_tasks import EPSILONS, Task, passed

DELTA = 1e-9
"""Of the peers whose promise has one."""
JUDGED = "dp-marginals"
"""The method that lines and leads are for; it was named before the run."""
SETTINGS = {
    "binned": "The same discretiser for all",
    "own": "Each with its own",
}
NAMES = {
    "dp-marginals": "**dp-marginals**",
    "dp-marginals, rules": "with spikes, rules",
    "dp-forest": "dp-forest",
    "dp-nb": "dp-nb",
    "dp-tree": "dp-tree",
    "independent": "independent columns",
    "datasynthesizer": "DataSynthesizer",
    "datasynthesizer, own": "DataSynthesizer, own bins",
    "privbayes": "PrivBayes (dpmm), δ",
    "mst": "MST (OpenDP), δ",
    "aim": "AIM (dpmm), δ",
    "dpctgan": "DP-CTGAN, δ",
    "anew": "true rows anew",
}
"""Columns of the tables."""
PURE = ("independent", "datasynthesizer", "datasynthesizer, own")
"""Peers of pure epsilon: dp-marginals is to be level with them or ahead at every epsilon."""
AIM_AT = (0.1, 0.5)
"""The epsilons at which it is to be level with AIM or ahead."""
MODELS = ("AUC, forest", "AUC, regression", "AUC, boosting")
Known = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One comparison of `JUDGED`: with the line of a task, or with a peer."""

    setting: str
    epsilon: float
    task: str
    rival: str
    """Empty for the line."""
    ours: float
    theirs: float

    @property
    def met(self) -> bool:
        """Return whether it is level or ahead."""
        return self.ours <= self.theirs


def errors(known: Known, setting: str, name: str, epsilon: float, task: str) -> list[float]:
    """Return the errors of all runs."""
    begin = f"{setting}|{name}|{epsilon:g}|"
    return [found[task] for one, found in known.items() if one.startswith(begin) and task in found]


def judgements(known: Known, tasks: Sequence[Task]) -> Iterator[Judged]:
    """Yield every comparison that was named before the run and could be measured."""
    for setting in SETTINGS:
        for epsilon in EPSILONS:
            for task in tasks:
                found = errors(known, setting, JUDGED, epsilon, task.name)
                if not found:
                    continue
                told = {"setting": setting, "epsilon": epsilon, "task": task.name, "ours": float(np.mean(found))}
                yield Judged(**told, rival="", theirs=task.passes[EPSILONS.index(epsilon)])
                for rival in (*PURE, *(("aim",) if epsilon in AIM_AT else ())):
                    theirs = errors(known, setting, rival, epsilon, task.name)
                    if theirs:
                        yield Judged(**told, rival=rival, theirs=float(np.mean(theirs)))


def _cell(found: Sequence[float]) -> str:
    if not found:
        return ""
    spread = f" ± {_short((max(found) - min(found)) / 2)}" if len(found) > 1 else ""
    return f"{_short(float(np.mean(found)))}{spread}"


def _short(number: float) -> str:
    return f"{number:.3f}".replace("0.", ".", 1)


def _table(known: Known, tasks: Sequence[Task], setting: str, epsilon: float) -> Iterator[str]:
    begins = {name: (f"{setting}|{name}|{epsilon:g}|", f"{setting}|{name}|0|") for name in NAMES}
    names = [name for name in NAMES if any(one.startswith(begins[name]) for one in known)]
    yield f"| ε = {epsilon:g} | line | {' | '.join(NAMES[name] for name in names)} |"
    yield "| --- " * (len(names) + 2) + "|"
    for task in tasks:
        if not task.binned and setting == "binned":
            continue
        cells = [_cell(errors(known, setting, name, 0 if name == "anew" else epsilon, task.name)) for name in names]
        ours = errors(known, setting, JUDGED, epsilon, task.name)
        sign = "" if not ours or passed(task, epsilon, float(np.mean(ours))) else " **missed**"
        cells = [cell + sign if name == JUDGED else cell for name, cell in zip(names, cells, strict=True)]
        yield f"| {task.name} | {_short(task.passes[EPSILONS.index(epsilon)])} | {' | '.join(cells)} |"
    yield ""


def _published(known: Known, published: Mapping[float, Mapping[str, tuple[float, float, float]]]) -> Iterator[str]:
    yield "| ε | rows of | pairs | triples | AUC, best of three |"
    yield "| --- | --- | --- | --- | --- |"
    source = known.get("binned|source|0|0", {})
    for epsilon in EPSILONS:
        if epsilon not in published:
            continue
        for name in ("dp-marginals", "dp-forest", "mst", "aim"):
            pairs, triples = (errors(known, "binned", name, epsilon, task) for task in ("pairs", "triples"))
            if pairs and source:
                lost = [errors(known, "binned", name, epsilon, task) for task in MODELS]
                best = max(source[task] - float(np.mean(one)) for task, one in zip(MODELS, lost, strict=True))
                told = NAMES[name].replace(", δ", "").strip("*")
                yield f"| {epsilon:g} | {told} | {_cell(pairs)} | {_cell(triples)} | {_short(best)} |"
        for name, figures in published[epsilon].items():
            yield f"| {epsilon:g} | {name}, as published or measured before | {' | '.join(map(_short, figures))} |"
    yield ""


def _misses(judged: Sequence[Judged]) -> Iterator[str]:
    yield "| setting | ε | task | dp-marginals | line or peer | its figure |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for one in judged:
        if not one.met:
            rival = NAMES[one.rival] if one.rival else "the line"
            told = "same bins" if one.setting == "binned" else "own"
            yield (f"| {told} | {one.epsilon:g} | {one.task} | {_short(one.ours)} | {rival} | {_short(one.theirs)} |")
    yield ""


def _counted(judged: Sequence[Judged]) -> Iterator[str]:
    yield "| dp-marginals | met | of |"
    yield "| --- | --- | --- |"
    for setting, told in SETTINGS.items():
        for rivals, against in (
            (("",), "lines"),
            *(((peer,), f"level with {NAMES[peer]} or ahead") for peer in (*PURE, "aim")),
        ):
            own = [one for one in judged if one.setting == setting and one.rival in rivals]
            if own:
                yield f"| {told[0].lower()}{told[1:]}: {against} | {sum(one.met for one in own)} | {len(own)} |"
    yield ""


def written(
    known: Known,
    tasks: Sequence[Task],
    said: Mapping[tuple[str, float], str],
    published: Mapping[float, Mapping[str, tuple[float, float, float]]],
    commit: str,
) -> str:
    """Return the page."""
    judged = list(judgements(known, tasks))
    lines = [*HEAD.format(commit=commit).splitlines(), "", "| task | error |", "| --- | --- |"]
    lines += [*(f"| {task} | {told} |" for task, told in EXPLAINED.items()), "", *_counted(judged)]
    for setting, title in SETTINGS.items():
        lines += [f"## {title}", "", *TOLD[setting].splitlines(), ""]
        for epsilon in EPSILONS:
            lines += _table(known, tasks, setting, epsilon)
    lines += ["## Beside published figures", "", *PUBLISHED_TOLD.splitlines(), "", *_published(known, published)]
    lines += ["## Every miss", "", *_misses(judged), "## The largest misses", "", *WHY.splitlines(), ""]
    lines += ["## Runs of the peers", ""]
    lines += ["| peer | ε | processor time, or why there are no rows |", "| --- | --- | --- |"]
    for (name, epsilon), reason in said.items():
        lines.append(f"| {NAMES[name].replace(', δ', '')} | {epsilon:g} | {reason} |")
    return "\n".join([*lines, "", *FOOT.splitlines()]) + "\n"


HEAD = """# A reader's tasks

<!-- `run_reader_tasks.py page` writes it: edit recipes/benchmarks/benchmark_reader_tasks.py instead -->

What a reader does with released rows, as errors beside the table itself, for the methods that draw rows and for the
peers that install. Lower is better; 0 is the released table. The line of each task and who has to be beaten were
committed before the first run of a peer: [`dp-marginals`](../dp_marginals.md), whose rows are for any purpose, is to be
within the line of each task, level with every peer of pure ε or ahead at each ε, and level with AIM or ahead at .1 and
.5.

Adult, 15 columns: 32,561 rows are released, the AUC is of the 16,281 others. Bounds and categories are those of
[the benchmark](../../benchmarks.md#rows-for-any-purpose-adult). Peers marked δ promise (ε, δ) with δ = 1e-9, which is
weaker than the pure ε of all others. After ± is half the range of the runs; without it there was one. Measured at
commit {commit}.
"""
EXPLAINED = {
    "means by group": "of the mean of each of six numbers in each group (education, marital status, occupation, work "
    "class, race, sex, income) of 200 rows or more, in standard deviations; at most 1",
    "shares by group": "of the share of incomes above 50K in each of these groups, and by sex × race, education × sex, "
    "marital status × sex",
    "regressions": "of the coefficients of two linear models (income on seven columns, hours on four), standardized",
    "top-coded totals": "relative, of totals of capital gains, losses and hours capped at 15,000, 2,000 and 60, and of "
    "the shares at or above; at most 1",
    "AUC": "lost on others' incomes by a forest, a logistic regression and boosting that learn from the rows and not "
    "from the table",
    "pairs, triples": "mean total variation distance of 105 pairs and 200 triples of columns, numbers in 16 equal bins",
    "correlations": "of Pearson's correlations of six numbers, sex, marriage and income",
    "rules broken": "largest share of rows with a female husband, a male wife, or years that are not those of the "
    "education",
    "commonest values": "largest error of the share of the commonest value of a number",
    "cells not whole": "share of cells of whole numbers that are none",
}
TOLD = {
    "binned": """Every number is one of 16 bins of one width between its public bounds, before anything else, and reads
as the middle of its bin: the table too. What is left is how well columns hold together.""",
    "own": """The table as it is: `dp-*` cut numbers as they do by default, with whole numbers declared. *With spikes,
rules* is `dp-marginals` with the values that many hold (0, 99,999, 40, 99) and three public rules in the policy. Peers
get the 16 bins, and a cell is any whole number of its bin; DataSynthesizer also has twenty bins of its own. It has
one parent a column: two, as in its examples, are further off.""",
}
PUBLISHED_TOLD = """SWIFT has no release in the package index. Its figures, and earlier ones of AIM and MST, are for
the same rows, bins, pairs and triples (δ = 1e-9); their forest had twice as many trees."""
WHY = """**Rules broken at .1** (.80; peers that measure pairs .10 to .55). `dp-marginals` measured no pair there:
every table is of one column, split by the target. Education and its years are then independent within a
class, and four rows of five have other years than their education's. At .5 it measures this pair, and .09
to .11 of the rows break a rule. The number of pairs follows from what a forest of them would save beside
what the noise of their tables costs the columns; for 15 columns at .1 none paid. The policy that names the
three rules spends nothing and breaks none.

**Top-coded totals, each with its own** (.234 at .5 and .250 at 1). Capital gains have 16 bins of public bounds up to
99,999: all below the cap of 15,000 is in three of them, and where a number is in its bin follows from the counts around
it. A policy that names the frequent values 0, 40, 99 and 99,999 is no nearer (.302 and .246); every peer is above .5.

**Commonest values at .1, each with its own** (.211). One release of the two is .385 off, the other .038. Six more, made
to see whether that is usual, are .033 off at most.

**PrivBayes** of dpmm chooses by the exponential mechanism and measures with Gaussian noise: its promise has a δ, and
it is no peer of pure ε."""
"""Causes of the misses that are furthest from their lines."""
FOOT = """`python recipes/benchmarks/run_reader_tasks.py own`, and then `page`, measures the methods again; rows of the
peers are kept between runs. The scores of all peers but DP-CTGAN were read back from this page, to three digits, when
DP-CTGAN was run and our methods were measured anew. DP-CTGAN took 490 CPU seconds at .5 and
1,815 at 1."""
