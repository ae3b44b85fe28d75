"""A mistake in a claim, in the noise or in the counting is refused: by release, by validate alone, or by a named test.

docs/how-to/validate.md lists the same mutants and who refuses them: run this file to write its table anew.
"""

from __future__ import annotations

import math
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from privacy.mutation import Mutant, Run, refusal

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy_toml
from anonkit.errors import PolicyError
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy
from anonkit.randomized_response.randomized_rows import RandomizeBatch
from anonkit.randomness import Randomness

ROWS = 2000


def _release(output: Path, method: str, policy: Policy, **parameters: Any) -> None:
    rows = bank_customers(ROWS, seed=1)
    anonkit.release(rows, method=method, policy=policy, output=output, ledger=None, **parameters)


def designed(column: str, **design: Any) -> Policy:
    """The policy of four columns and the label, with one column whose answers are designed."""
    raw = tomllib.loads(bank_customers_policy_toml())
    for name in raw["columns"].keys() - {"age", "education", "occupation", "marital_status", "customer_value"}:
        raw["columns"][name]["role"] = "insensitive"
    raw["columns"][column].update(design)
    return Policy.from_dict(raw)


def _uneven(output: Path, *weights: float) -> None:
    """Release with uneven answers about one column; missing, where it is a value, like the last weight."""
    raw = tomllib.loads(bank_customers_policy_toml())
    names = raw["columns"]["marital_status"]["categories"]
    for more in (0, 1):
        design = [*weights[: len(names)], *weights[-1:] * more]
        try:
            _release(output, "errph", designed("marital_status", answer_weights=design), p_keep=0.3, bins=8)
        except PolicyError:
            continue
        return


def _own_matrix(output: Path) -> None:
    """Release with an own matrix that has a zero."""
    raw = tomllib.loads(bank_customers_policy_toml())
    for more in (0, 1):
        size = len(raw["columns"]["education"]["categories"]) + more
        rows = np.full((size, size), 0.5 / (size - 1)) + (0.5 - 0.5 / (size - 1)) * np.eye(size)
        rows[0, 0] += rows[0, 1]
        rows[0, 1] = 0.0
        try:
            _release(output, "errph", designed("education", response_matrix=rows.tolist()), p_keep=0.3, bins=8)
        except PolicyError:
            continue
        return


PLAIN = designed("age")
CUSTOMERS = bank_customers(400, seed=1)
NUMBERS = CUSTOMERS.select(["age", "education", "customer_value"])


def squares(rare: int, values: str) -> pa.Table:
    """A table of four classes: 15 rows each but one, whose sensitive values are some of those of the others."""
    sizes = {("x", "u"): rare, ("x", "v"): 15, ("y", "u"): 15, ("y", "v"): 15}
    rows = [
        {
            "first": first,
            "second": second,
            "s": {"-": None}.get(one := values[at % len(values)], one) if first + second == "xu" else "abcd"[at % 4],
            "y": "rare" if first + second == "xu" else first if at % 5 else second,
            "person": f"{first}{second}{at % 3 if first + second == 'xu' else at}",
            "name": f"name {first}{second}{at}",
        }
        for (first, second), size in sizes.items()
        for at in range(size)
    ]
    return pa.Table.from_pylist(rows)


FOUR = squares(4, "abcd")
"""One class of k − 1 rows."""
BLANK = squares(12, "ab-")
"""One class in which two sensitive values and missing occur."""
THREE = squares(12, "abc")
"""One class of three people, in which one sensitive value is wanting."""
MARKED = pa.Table.from_pylist([{**row, "s": row["s"] or "unknown"} for row in BLANK.to_pylist()])
"""The same with a mark for a missing value."""
RARE = pa.Table.from_pylist(
    [{**row, "s": "ill" if row["first"] + row["second"] == "xu" else row["s"]} for row in THREE.to_pylist()]
)
"""One class in which all have what nobody else has."""
PAY = pa.Table.from_pylist(
    [
        {**row, "s": 900.0 + at % 5 / 10 if row["first"] + row["second"] == "xu" else 1000.0 + 37 * at}
        for at, row in enumerate(THREE.to_pylist())
    ]
)
"""One class whose numbers are close to each other."""
NOBODYS = pa.Table.from_pylist(
    [
        {**row, "person": None if row["first"] + row["second"] == "xu" and at % 5 == 4 else f"p{at % 5}{row['second']}"}
        for at, row in enumerate(THREE.to_pylist())
    ]
)
"""One class of four people, some of whose rows do not say whose they are."""


def _anonymous(output: Path, rows: pa.Table, method: str, **more: Any) -> None:
    used = {"first", "second", "y", more.get("unit"), *more.get("sensitive", ()), *more.get("identifiers", ())}
    asked: dict[str, Any] = {"k": 5, "target": "y"} | more
    if method == "rfka":
        asked = {"trees": 5, "max_suppression": 0.0} | asked
    rows = rows.select([name for name in rows.column_names if name in used])
    anonkit.release(rows, method=method, output=output, ledger=None, **asked)


RUNS: dict[str, Run] = {
    "errph": lambda at: _release(at, "errph", PLAIN, p_keep=0.3, bins=8),
    "uneven": lambda at: _uneven(at, 4, 3, 2, 1, 1),
    "a weight of 0": lambda at: _uneven(at, 1, 2, 3, 0, 0),
    "own matrix": _own_matrix,
    "clear label": lambda at: _release(at, "errph", PLAIN, p_keep=0.3, bins=8, label="clear"),
    "rr": lambda at: _release(at, "rr", PLAIN, epsilon=1.0),
    "bands": lambda at: _release(at, "rr", PLAIN, epsilon=3.0),
    "sets": lambda at: _release(at, "rr", PLAIN, epsilon=0.5),
    "split": lambda at: _release(at, "rr", PLAIN, epsilon=4.0, allocation="split"),
    "ppnb": lambda at: _release(at, "ppnb", PLAIN, p_keep=0.35),
    "rfka": lambda at: _anonymous(at, FOUR, "rfka"),
    "rfka of numbers": lambda at: anonkit.release(
        NUMBERS, method="rfka", k=5, trees=5, target="customer_value", output=at, ledger=None
    ),
    "rfka suppressing": lambda at: _anonymous(at, FOUR, "rfka", max_suppression=0.2),
    "rfka with l": lambda at: _anonymous(at, FOUR, "rfka", max_suppression=0.2, sensitive=["s"], l=2),
    "rfka of people": lambda at: _anonymous(at, THREE, "rfka", unit="person"),
    "rfka of people suppressing": lambda at: _anonymous(
        at, THREE, "rfka", unit="person", search="greedy", max_suppression=0.3
    ),
    "rfka with a name": lambda at: _anonymous(at, FOUR, "rfka", identifiers=["name"]),
    "rfka of candidates": lambda at: _anonymous(
        at, THREE, "rfka", identifiers=["person"], search="greedy", max_suppression=0.3
    ),
    "mondrian of candidates": lambda at: _anonymous(at, THREE, "mondrian", identifiers=["person"]),
    "mondrian of missing candidates": lambda at: _anonymous(at, NOBODYS, "mondrian", identifiers=["person"]),
    "mdav": lambda at: anonkit.release(
        NUMBERS, method="mdav", k=5, target="customer_value", output=at, ledger=None, utility=False
    ),
    "mondrian": lambda at: _anonymous(at, FOUR, "mondrian"),
    "mondrian of people": lambda at: _anonymous(at, THREE, "mondrian", unit="person"),
    "l": lambda at: _anonymous(at, THREE, "mondrian", sensitive=["s"], l=4),
    "l with missing": lambda at: _anonymous(at, BLANK, "mondrian", sensitive=["s"], l=3),
    "entropy l": lambda at: _anonymous(at, THREE, "mondrian", sensitive=["s"], entropy_l=3.5),
    "t": lambda at: _anonymous(at, THREE, "mondrian", sensitive=["s"], t=0.1),
    "alpha": lambda at: _anonymous(at, THREE, "mondrian", sensitive=["s"], alpha=0.3),
    "cap": lambda at: _anonymous(at, RARE, "mondrian", sensitive=["s"]),
    "cap of numbers": lambda at: _anonymous(at, PAY, "mondrian", sensitive=["s"]),
    "l with marks": lambda at: _anonymous(at, MARKED, "mondrian", sensitive=["s"], l=3),
    "l of numbers": lambda at: _anonymous(at, PAY, "mondrian", sensitive=["s"], l=2),
}
"""Releases, by name."""

_WORDS = "tests/privacy/test_local_mechanisms.py::test_every_word_answers_as_the_response_matrix_says"
_BATCHES = "tests/randomized_response/test_randomized_rows.py::test_batches_of_any_size_give_the_same_rows"
_STREAMS = "tests/privacy/test_mutants.py::check_streams"

LOCAL: dict[str, Mutant] = {
    # claims
    "a loss is a tenth": Mutant(
        where="published.exact_losses:privacy_loss", old=".ln() + _SLACK", new=".ln() / 10 + _SLACK",
        refused_by="release", check="epsilon", run="rr",
    ),
    "the largest instead of the sum": Mutant(
        where="published.randomized_table:PublishedTable.record_epsilon",
        old="if self.asked_column else", new="if True else",
        refused_by="release", check="epsilon", run="errph",
    ),
    "the label costs nothing": Mutant(
        where="published.randomized_table:PublishedTable.record_epsilon", old="spent * label", new="spent",
        refused_by="release", check="epsilon", run="split",
    ),
    "a clear label costs nothing": Mutant(
        where="published.randomized_table:PublishedTable.record_epsilon",
        old="else self.target.mechanism.ratio", new="else self.target.mechanism.ratio or Fraction(1)",
        refused_by="release", check="epsilon", run="clear label",
    ),
    "the commonest blind answer counts": Mutant(
        where="published.channels.category_channels:RandomizedResponse.ratio",
        old="smallest = min(self.blind_weights)", new="smallest = max(self.blind_weights)",
        refused_by="release", check="epsilon", run="uneven",
    ),
    "a category without blind answers is passed over": Mutant(
        where="published.channels.category_channels:RandomizedResponse.ratio",
        old="min(self.blind_weights)", new="min(one for one in self.blind_weights if one)",
        refused_by="release", check="epsilon", run="a weight of 0",
    ),
    "a zero of a matrix is passed over": Mutant(
        where="published.exact_losses:worst_ratio", old="bottom == 0 and top > 0", new="False",
        refused_by="release", check="epsilon", run="own matrix",
    ),
    "the band without its blind words": Mutant(
        where="published.channels.number_channels:BandResponse.ratio",
        old="self.blind_weight + self.excess_weight, self.blind_weight", new="self.excess_weight, self.blind_weight",
        refused_by="release", check="epsilon", run="bands",
    ),
    "a member counts by half": Mutant(
        where="published.channels.category_channels:SetResponse.ratio",
        old="most * self.excess_weight", new="most * self.excess_weight // 2",
        refused_by="release", check="epsilon", run="sets",
    ),
    "sets get twice the epsilon": Mutant(
        where="published.channels.category_channels:SetResponse.from_epsilon",
        old="epsilon_ratio(check_epsilon(epsilon))", new="epsilon_ratio(2 * check_epsilon(epsilon))",
        refused_by="release", check="method_parameters", run="sets",
    ),
    "twice the requested epsilon": Mutant(
        where="published.channels.category_channels:RandomizedResponse.from_epsilon",
        old="epsilon_ratio(check_epsilon(epsilon))", new="epsilon_ratio(2 * check_epsilon(epsilon))",
        refused_by="release", check="method_parameters", run="split",
    ),
    "every answer gets the whole epsilon": Mutant(
        where="methods.rr:RR.table_of",
        old="self.epsilon / (len(columns) + (classes is not None))", new="self.epsilon",
        refused_by="release", check="method_parameters", run="split",
    ),
    "more truth than p_keep": Mutant(
        where="published.channels.category_channels:RandomizedResponse.equal",
        old="(1 - p) / max(n_categories, 1)", new="(1 - p) / max(n_categories, 1) / 2",
        refused_by="release", check="method_parameters", run="errph",
    ),
    "p_keep of the report halved": Mutant(
        where="randomized_response.randomized_draft:_facts",
        old="mechanism.truth_probability", new="mechanism.truth_probability / 2",
        refused_by="release", check="figures:", run="errph",
    ),
    "breach without its denominator": Mutant(
        where="published.channels.category_channels:RandomizedResponse.breach",
        old="p * p / (p + self.blind_probabilities)", new="p * p * (1 + 0 * self.blind_probabilities)",
        refused_by="release", check="figures:", run="errph",
    ),
    "a line of the budget halved": Mutant(
        where="randomized_response.randomized_draft:AnswerAccounting.budget",
        old='"epsilon": loss_json(loss)}', new='"epsilon": loss_json(loss / 2)}',
        refused_by="release", check="budget_lines", run="errph",
    ),
    "all answers called one": Mutant(
        where="randomized_response.randomized_draft:local_promise",
        old="one_answer=table.asked_column is not None", new="one_answer=True",
        refused_by="release", check="answers_as_promised", run="errph",
    ),
    "a clear label not named": Mutant(
        where="randomized_response.randomized_draft:local_promise", old="clear=tuple(clear)", new="clear=()",
        refused_by="release", check="answers_as_promised", run="ppnb",
    ),
    "a wider domain stated than was used": Mutant(
        where="documents:_written", old="= unstructure(value)",
        new="= [value[0], value[1] + part.width] if entry.key == 'bounds' else unstructure(value)",
        refused_by="release", check="domain:", run="errph",
    ),
    # noise
    "no noise": Mutant(
        where="randomized_response.randomized_rows:RandomizeBatch._randomized",
        old="randomizer.randomize(codes, key=self.key, stream=stream, first_row=row, rows=rows_answered)", new="codes",
        refused_by="validate", check="response_rates:", run="errph",
    ),
    "blind answers of the first half only": Mutant(
        where="mechanisms.randomizers:KaryRandomizer.answer",
        old="word(response.equal_blind_weight)", new="word(2 * response.equal_blind_weight)",
        refused_by="validate", check="response_rates:", run="errph",
    ),
    "the first bit of a word dropped": Mutant(
        where="mechanisms.randomizers:CodeRandomizer.randomize",
        old="word_bits=channel.word_bits).reshape(-1)",
        new="word_bits=channel.word_bits).reshape(-1) >> 1",
        refused_by="validate", check="response_rates:", run="errph",
    ),
    "every row shows all its answers": Mutant(
        where="randomized_response.randomized_rows:RandomizeBatch._answers",
        old="None if attribute_of_row is None else np.flatnonzero(attribute_of_row == stream)", new="None",
        refused_by="release", check="one_answer_per_row", run="rr",
    ),
    "one word too many tells the truth": Mutant(
        where="mechanisms.randomizers:KaryRandomizer.answer",
        old="words < word(response.truth_weight)", new="words <= word(response.truth_weight)",
        refused_by=_WORDS, arguments=("equal",),
    ),
    "blind answers half as wide": Mutant(
        where="mechanisms.randomizers:KaryRandomizer.answer",
        old="word(response.equal_blind_weight)", new="word((response.equal_blind_weight + 1) // 2)",
        refused_by=_WORDS, arguments=("equal",),
    ),
    "a band off by one": Mutant(
        where="mechanisms.randomizers:BandRandomizer.answer",
        old="words < word(truthful)", new="words <= word(truthful)",
        refused_by=_WORDS, arguments=("band",),
    ),
    "the places of missing not merged": Mutant(
        where="mechanisms.randomizers:BandRandomizer.answer",
        old="if response.has_missing else", new="if False else",
        refused_by=_WORDS, arguments=("band with missing",),
    ),
    "a set off by one": Mutant(
        where="mechanisms.randomizers:SetRandomizer.answer",
        old="words < word(truthful)", new="words <= word(truthful)",
        refused_by=_WORDS, arguments=("sets",),
    ),
    "sets that do not go around the classes": Mutant(
        where="mechanisms.randomizers:SetRandomizer.answer",
        old="+ self._moves[0][member]", new="+ 0 * member",
        refused_by=_WORDS, arguments=("sets with classes",),
    ),
    "the truth instead of its set": Mutant(
        where="mechanisms.randomizers:SetRandomizer.answer",
        old="np.minimum(words // word(response.excess_weight), word(size - 1))", new="(0 * words)",
        refused_by=_WORDS, arguments=("sets",),
    ),
    "blind sets of the first half only": Mutant(
        where="mechanisms.randomizers:SetRandomizer.answer",
        old="word(response.blind_weight)", new="word(2 * response.blind_weight)",
        refused_by="validate", check="response_rates:", run="sets",
    ),
    "an alias table off by one": Mutant(
        where="mechanisms.randomizers:AliasTable._draw", old="words >= self.limits", new="words > self.limits",
        refused_by=_WORDS, arguments=("skewed",),
    ),
    "one key stream for all attributes": Mutant(
        where="randomized_response.randomized_rows:RandomizeBatch._randomized", old="stream=stream", new="stream=0",
        refused_by=_STREAMS,
    ),
    "the label draws the words of an attribute": Mutant(
        where="randomized_response.randomized_rows:RandomizeBatch._answers", old="stream=_LABEL_STREAM", new="stream=0",
        refused_by=_STREAMS,
    ),
    "the words of every block used again": Mutant(
        where="mechanisms.randomizers:CodeRandomizer.randomize", old="first_row + block.start", new="first_row",
        refused_by="tests/mechanisms/test_code_randomizers.py::test_blocks_do_not_show_in_the_answers",
    ),
    "the words of every batch used again": Mutant(
        where="randomized_response.randomized_rows:RandomizeBatch._randomized", old="first_row=row", new="first_row=0",
        refused_by=_BATCHES, arguments=("errph", {"epsilon": 1.0, "bins": 4}, CUSTOMERS),
    ),
    "a multiplier without its variance": Mutant(
        where="mechanisms.randomizers:NumberRandomizer._noisy",
        old="spread *= a.variance", new="spread *= 0",
        refused_by="tests/mechanisms/test_number_randomizer.py::test_published_numbers_have_the_stated_moments",
        arguments=("N(1,1)",),
    ),
}  # fmt: skip
"""Mutants of local differential privacy."""

_COUNTED = "rows would have to be left out"
"""Refusals before a row is written: the classes of the recoded table are counted apart from the search."""

COUNTING: dict[str, Mutant] = {
    "k off by one": Mutant(
        where="k_anonymity.violating_classes:_violating", old="model.k, policy.unit", new="model.k - 1, policy.unit",
        refused_by="release", check="k_anonymity", run="rfka suppressing",
    ),
    "k off by one in the search": Mutant(
        where="k_anonymity.search.equivalence:AtLeastK.violated", old="< self.k", new="< self.k - 1",
        refused_by="release", check=_COUNTED, run="rfka",
    ),
    "k off by one in boxes": Mutant(
        where="k_anonymity.search.box_growth:BoxGrowth.__init__", old="(r.k for r", new="(r.k - 1 for r",
        refused_by="release", check=_COUNTED, run="mondrian",
    ),
    "suppression skipped": Mutant(
        where="k_anonymity.recoded_rows:RecodeRows.__call__",
        old="left_out | is_among(recoded, self.suppressed, batch.num_rows)", new="left_out",
        refused_by="release", check="k_anonymity", run="rfka suppressing",
    ),
    "suppressed rows written": Mutant(
        where="k_anonymity.recoded_draft:draft_recoded",
        old="suppressed=violating.classes if violating.classes.num_rows else None", new="suppressed=None",
        refused_by="release", check="k_anonymity", run="rfka suppressing",
    ),
    "rows counted as people": Mutant(
        where="k_anonymity.violating_classes:_violating", old="model.k, policy.unit", new="model.k, None",
        refused_by="release", check="k_anonymity_people", run="rfka of people suppressing",
    ),
    "rows counted as people in the search": Mutant(
        where="k_anonymity.search.equivalence:AtLeastK.violated", old="partition.sizes(self.units)",
        new="partition.sizes()",
        refused_by="release", check=_COUNTED, run="rfka of people",
    ),
    "rows counted as people in boxes": Mutant(
        where="k_anonymity.search.equivalence:AtLeastK.violated", old="partition.sizes(self.units)",
        new="partition.sizes()",
        refused_by="release", check=_COUNTED, run="mondrian of people",
    ),
    "what may be the person not counted": Mutant(
        where="k_anonymity.violating_classes:_violating", old="for candidate in policy.candidates]",
        new="for candidate in ()]",
        refused_by="release", check="k_anonymity_candidate", run="rfka of candidates",
    ),
    "what may be the person not counted in the search": Mutant(
        where="k_anonymity.privacy_model:candidate_requirements", old="for column in candidates]",
        new="for column in ()]",
        refused_by="release", check=_COUNTED, run="mondrian of candidates",
    ),
    "a missing one counted as a person": Mutant(
        where="k_anonymity.privacy_model:candidate_requirements", old=", column.missing)", new=")",
        refused_by="release", check=_COUNTED, run="mondrian of missing candidates",
    ),
    "what may be the person not promised": Mutant(
        where="k_anonymity.privacy_model:AnonymityModel.guarantee", old="for candidate in policy.candidates)",
        new="for candidate in ())",
        refused_by="validate", check="whose_rows", run="mondrian of candidates",
    ),
    "l off by one": Mutant(
        where="k_anonymity.search.equivalence:DistinctL.breaks", old="< self.l", new="< self.l - 1",
        refused_by="release", check="l_diversity", run="l",
    ),
    "missing counted as a sensitive value": Mutant(
        where="k_anonymity.violating_classes:diversity_requirements",
        old="None if rule.missing_is_value else column.missing", new="None",
        refused_by="release", check="l_diversity", run="l with missing",
    ),
    "entropy in bits": Mutant(
        where="k_anonymity.search.equivalence:EntropyL.measure", old="np.log(p)", new="np.log2(p)",
        refused_by="release", check="entropy_l_diversity", run="entropy l",
    ),
    "half the distance": Mutant(
        where="k_anonymity.search.equivalence:TCloseness.measure",
        old="np.minimum(moved, 1.0)", new="np.minimum(moved, 1.0) / 2",
        refused_by="release", check="t_closeness", run="t",
    ),
    "the rarest value for the commonest": Mutant(
        where="k_anonymity.search.equivalence:AlphaK.measure", old=".max(axis=-1, initial=0.0)", new=".min(axis=-1)",
        refused_by="release", check="alpha_k_anonymity", run="alpha",
    ),
    "caps of nothing": Mutant(
        where="k_anonymity.search.equivalence:CapByValue.breaks", old="> _TOLERANCE", new="> 1",
        refused_by="release", check="confidence_cap", run="cap",
    ),
    "caps of half a share more": Mutant(
        where="k_anonymity.sensitive_rules:_cap", old="-50 * (everybody + count)", new="-50 * (everybody + 2 * count)",
        refused_by="validate", check="sensitive_values", run="cap",
    ),
    "caps that are not published": Mutant(
        where="k_anonymity.sensitive_rules:Caps.pairs", old="self.from_numbers or", new="",
        refused_by="validate", check="sensitive_values", run="cap of numbers",
    ),
    "values of a tenth of the table exempt": Mutant(
        where="k_anonymity.sensitive_rules:_cap", old="count * _EXEMPT_OF[1] >", new="8 * count * _EXEMPT_OF[1] >",
        refused_by="validate", check="sensitive_values", run="cap",
    ),
    "no cap without a requirement": Mutant(
        where="k_anonymity.privacy_model:AnonymityModel.guarantee", old="if not (whole_set or own.required())",
        new="if not (True or own.required())",
        refused_by="validate", check="sensitive_columns", run="cap",
    ),
    "marks for a missing cell counted as values": Mutant(
        where="domains.coded_columns:folded_column", old="None if text is None or text in no_values else text",
        new="text",
        refused_by="release", check=_COUNTED, run="l with marks",
    ),
    "numbers close by counted as different": Mutant(
        where="k_anonymity.sensitive_rules:SensitiveRule.ends", old="numbers + self.width", new="numbers",
        refused_by="release", check="l_diversity", run="l of numbers",
    ),
    "a width of half the tolerance": Mutant(
        where="k_anonymity.sensitive_rules:rounded_width", old="* (high - low)", new="* (high - low) / 2",
        refused_by="validate", check="sensitive_values", run="cap of numbers",
    ),
    "the last requirement alone": Mutant(
        where="k_anonymity.violating_classes:_violating", old="[small, removed, *tables]", new="[removed, *tables]",
        refused_by="release", check="k_anonymity", run="rfka with l",
    ),
    "identifiers let through": Mutant(
        where="k_anonymity.recoded_draft:_passes", old="in (Role.TARGET", new="in (Role.IDENTIFIER, Role.TARGET",
        refused_by="release", check="identifiers_absent", run="rfka with a name",
    ),
    "the unit left in the data": Mutant(
        where="pipeline.derived_columns:shown_rows", old=" if name not in hidden", new="",
        refused_by="validate", check="identifiers_absent", run="rfka of people",
    ),
    "a label of the params that is not in the data": Mutant(
        where="documents:_written", old="= unstructure(value)",
        new="= ['another', *value[1:]] if entry.key == 'labels' else unstructure(value)",
        refused_by="validate", check="domain:", run="rfka of numbers",
    ),
    "labels of the params in another order": Mutant(
        where="documents:_written", old="= unstructure(value)",
        new="= list(reversed(value)) if entry.key == 'labels' else unstructure(value)",
        refused_by="tests/privacy/test_mutants.py::check_recoding",
    ),
    "a cut in the interval below": Mutant(
        where="published.recoding.axes:parts_of", old='(inside, whole, side="right")',
        new='(inside, whole, side="left")',
        refused_by="tests/published/recoding/test_axes.py::test_a_cut_belongs_to_the_interval_above_it",
    ),
    "class sizes of the report": Mutant(
        where="checks.disclosure:Disclosure.to_dict", old='"size": n, "classes": c', new='"size": n + 1, "classes": c',
        refused_by="validate", check="class_sizes", run="rfka",
    ),
    "the order of the source": Mutant(
        where="engines.local.local_engine:LocalEngine.write", old="if randomness is None else", new="if True else",
        refused_by="tests/bundle/test_stored_release.py::test_rows_are_not_in_the_order_of_the_source",
        arguments=(CUSTOMERS,),
    ),
}  # fmt: skip
"""Mutants of k-anonymity."""

_GROUPS = "tests/k_anonymity/search/test_microaggregation.py::test_the_groups_are_those_of_a_plain_implementation"

GROUPED: dict[str, Mutant] = {
    "groups of one row less": Mutant(
        where="k_anonymity.search.microaggregation:_Left.taken",
        old="np.cumsum(self._weights[places]), k)", new="np.cumsum(self._weights[places]), k - 1)",
        refused_by=_GROUPS, arguments=(60, 3, 3),
    ),
    "the nearest points of the mean": Mutant(
        where="k_anonymity.search.microaggregation:mdav",
        old="left.distances(left.farthest(left.distances(left.mean())))", new="left.distances(left.mean())",
        refused_by=_GROUPS, arguments=(60, 3, 3),
    ),
    "rows show the nearest centroid": Mutant(
        where="k_anonymity.numbers_in_groups:GroupedRecoding.apply",
        old="np.where(place == UNKNOWN, UNKNOWN, self.centroid_of[place])",
        new="centroids.nearest(out, {name: batch.column(name) for name in names})",
        refused_by="release", check="", run="mdav",
    ),
    "means are not rounded": Mutant(
        where="k_anonymity.numbers_in_groups:rounded",
        old="np.rint(means * parts) / parts if exact else np.rint(means / unit) * unit", new="means",
        refused_by="validate", check="centroids_stated", run="mdav",
    ),
    "means that one person dominates are shown": Mutant(
        where="k_anonymity.numbers_in_groups:_Means.of",
        old="np.logical_or.reduce(list(rules.values()))", new="np.zeros(n_groups, bool)",
        refused_by="tests/k_anonymity/test_numbers_in_groups.py::test_every_small_table",
    ),
    "a centroid is left out": Mutant(
        where="pipeline.stored_dossier:shown_centroids",
        old="used = [at for at, line in enumerate(lines) if line in shown]",
        new="used = [at for at, line in enumerate(lines) if line in shown][1:]",
        refused_by="validate", check="centroids", run="mdav",
    ),
}  # fmt: skip
"""Means of groups."""

MUTANTS = {**LOCAL, **COUNTING, **GROUPED}


def check_streams() -> None:
    """Of rows that are all alike, no two columns are true together more often than chance has it."""
    n_rows, table = 5000, make_method("errph", {"p_keep": 0.3, "bins": 8}).published(PLAIN)  # type: ignore[attr-defined]
    rows = bank_customers(1, seed=1).take(pa.array(np.zeros(n_rows, dtype=np.int64))).combine_chunks()
    category = pa.dictionary(pa.int32(), pa.string())
    kinds = {one.name: pa.float64() if one.is_number else category for one in table.attributes}
    schema = pa.schema([*kinds.items(), (table.target.name, category)])
    key = Randomness.seeded(11).key("noise")
    cells = RandomizeBatch(table=table, key=key, schema=schema)(rows.to_batches()[0], 0).to_pandas()
    common = np.array([(cells[name] == cells[name].mode()[0]).to_numpy() for name in cells])
    found = np.corrcoef(common) - np.eye(len(common))
    assert np.abs(found).max() < 5 / math.sqrt(n_rows)


def check_recoding() -> None:
    """The released table is what `apply` makes of the source by the published recoding."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.parquet"
        # no row is left out: `apply` would keep it, merged with others
        whole = {"method": "rfka", "k": 5, "trees": 5, "max_suppression": 0, "target": "customer_value"}
        anonkit.release(NUMBERS, output=output, ledger=None, **whole)
        again = anonkit.apply(output, NUMBERS, ledger=None).to_pandas()
        first = anonkit.load(output).to_pandas()
    columns = list(first.columns)
    assert sorted(map(str, first[columns].to_numpy().tolist())) == sorted(map(str, again[columns].to_numpy().tolist()))


def test_the_checks_named_in_the_table_pass_on_the_sound_package() -> None:
    """They fail under a mutant only."""
    check_streams()
    check_recoding()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_refused_by_whom_the_table_names(name: str, tmp_path: Path) -> None:
    """No mutant stays undetected: the check for it fails, or the named test does."""
    mutant = MUTANTS[name]
    told = refusal(mutant, RUNS, tmp_path)
    assert told, "the mutant survives: a check is missing"
    assert mutant.check in told


def test_a_mutant_leaves_nothing_behind(tmp_path: Path) -> None:
    """A channel of twice the epsilon, remembered by its parameters, would be that of the sound package."""
    for folder in ("mutant", "sound"):
        (tmp_path / folder).mkdir()
    assert refusal(MUTANTS["twice the requested epsilon"], RUNS, tmp_path / "mutant")
    RUNS["split"](tmp_path / "sound" / "out.parquet")


@pytest.mark.quick_cases("rfka", "mondrian", "mondrian of people", "l", "rr", "errph", "ppnb", "mdav", "clear label")
@pytest.mark.parametrize("run", RUNS)
def test_the_sound_package_is_refused_by_nobody(run: str, tmp_path: Path) -> None:
    """The package from which mutants are made releases and validates."""
    RUNS[run](tmp_path / "out.parquet")
    assert anonkit.validate(tmp_path / "out.parquet").passed


# --- the documentation -------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "validate.md"


def table() -> str:
    """Return the mutants as a table of the page."""
    lines = ["| mutant | changed in | refused by |", "| --- | --- | --- |"]
    for name, one in MUTANTS.items():
        place = one.where.partition(":")[0].replace(".", "/")
        by = one.refused_by.removesuffix("check_streams").removesuffix("check_recoding").removesuffix("::")
        check = f": `{one.check.removesuffix(':')}`" if one.check else ""
        lines.append(f"| {name} | `{place}.py` | {by if one.check else f'`{by}`'}{check} |")
    return "\n".join(lines)


def rewritten(page: str) -> str:
    """Return the page with the table of today."""
    before, start, rest = page.partition(
        "<!-- mutants: PYTHONPATH=tests python tests/privacy/test_mutants.py writes the table anew -->\n"
    )
    _, end, after = rest.partition("<!-- end of mutants -->")
    assert start, "the page has lost the place of the table"
    assert end, "the page has lost the end of the table"
    return f"{before}{start}\n{table()}\n\n{end}{after}"


def test_the_page_lists_every_mutant() -> None:
    """As the table of the tests has them."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == rewritten(page), "out of date: PYTHONPATH=tests python tests/privacy/test_mutants.py"


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
