# SPDX-License-Identifier: Apache-2.0
"""Figures, dates, names and checks of a report in words, in place of a key or a float."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from anonkit.promises.guarantee import Neighbours, fewest_protected, is_far_below, most_protected

NO_ROW = "no row is released: the noise left nothing to show; a larger epsilon or delta, or fewer columns, show more"
"""Sentence for a release of noise whose table is empty, which the report states as `rows.out`."""
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_NAMES = {
    "epsilon": "ε",
    "delta": "δ",
    "auc": "AUC",
    "r2": "R²",
    "mae": "mean absolute error",
    "joint_distribution": "error in the joint distribution of two columns",
    "pairs": "pairs of columns",
    "mean_total_variation": "mean total variation",
    "of_mean": "always predicting the mean",
    "ci": "95% interval",
    "prediction_of_target": "prediction of the target within the released rows",
    "scored_rows": "first rows of the file, on which prediction is scored",
    "average_equivalence_class_size": "average size of an equivalence class, in rows",
    "discernibility": "discernibility (sum of squared group sizes; less is finer)",
    "granularity": "granularity (loss of detail)",
    "utility_of_source": "usefulness of the source, for comparison",
    "zero_r": "share of the commonest class",
    "majority": "share of the commonest class",
    "in": "rows read",
    "out": "rows released",
    "suppressed": "rows left out (suppressed)",
    "dropped_missing": "rows left out for missing values",
    "dropped_without_unit": "rows left out without a unit",
    "beyond_rows_per_person": "rows of people who have more than are used",
    "missing_is_value": "missing is a value in",
    "one_answer_per_row": "one answer a row",
    "clear": "released as they are",
    "unbounded": "without a bound",
    "transformed": "multiplied and shifted at random",
    "losses": "privacy loss ε of each answer, in this order",
    "answers": "columns that are answered",
    "domains_from_data": "domains read from the table",
    "identifiers_from_data": "left out because their cells look like identifiers",
    "rows_per_unit": "most rows of one unit that are used",
    "p_keep": "true value kept with probability",
    "breach": "breach (chance that a true value is shown and believed)",
    "breach_width": "breach width",
    "coding": "ends",
    "search": "how the recoding was found",
    "name": "name",
    "explained": "share of the target's pattern that is kept, 0 to 1",
    "features_kept": "values that are kept",
    "forest": "trees of the model",
    "nodes": "nodes, leaves among them",
    "depth": "levels below the root",
    "regions": "regions with scores of their own",
    "bins": "ranges that a number is cut into",
    "weights_learned": "weights learned from the table",
    "rows_per_tree": "rows that a tree sees",
    "rows_of_the_mildest_division": "rows its coarsest division would leave out",
    "rows_that_may_still_be_left_out": "rows that could still be left out then",
    "rows_that_may_be_left_out": "rows that could be left out",
    "rows_that_would_break_it": "rows in too small groups with it",
    "nodes_that_meet_the_model": "combinations that keep the promise",
    "cells_not_as_declared": "cells that are not as declared",
    "rows_compared": "rows of each table that were compared",
    "quasi_identifiers": "quasi-identifiers",
    "sensitive": "sensitive attributes",
    "l_diversity": "l-diversity",
    "entropy_l_diversity": "entropy l-diversity",
    "recursive_c_l_diversity": "recursive (c, l)-diversity",
    "t_closeness": "t-closeness",
    "alpha_k_anonymity": "(alpha, k)-anonymity",
    "of_columns": "required of single sensitive attributes",
    "confidence_cap": "cap on confidence by value",
    "exempt_above": "values above this share are exempt",
}
_CHECKS = {
    "basic_beta_likeness": ("Gain in likelihood of a value of ‘{}’ in the worst class", "at most"),
    "response_rates": ("Chance of the answers of ‘{}’ under the stated mechanism", "at least"),
    "joint_k": ("Smallest group when combined with earlier releases", "at least"),
    "k_anonymity": ("Rows in the smallest equivalence class", "at least"),
    "alike_rows": ("Rows that are alike in all columns, of the rarest kind", "at least"),
    "draw": ("Statements about the noise that contradict each other, or the promise", "exactly"),
    "cuts": ("Cuts of ‘{}’ that do not lie between its public bounds", "exactly"),
    "values": ("Lists of values of ‘{}’ that are not the public one", "exactly"),
    "k_anonymity_people": ("People in the smallest equivalence class", "at least"),
    "k_anonymity_whole_sets": ("People that have the rarest whole set of rows, counted by the owner", "at least"),
    "surrogates": ("Contradictions about the column that shows which rows belong together", "exactly"),
    "people_of_surrogates": ("Classes whose surrogates are not as many as the people stated", "exactly"),
    "whole_sets_counted_by_owner": ("Statements that the owner counted whole sets of rows for this k", "exactly"),
    "k_anonymity_candidate": (
        "Different values of ‘{}’ in the group with the fewest, counted by the owner",
        "at least",
    ),
    "k_anonymity_key": ("Rows of the rarest combination of ‘{}’", "at least"),
    "whose_rows": ("Contradictions about whose rows these are", "exactly"),
    "weights_sum": ("Statements of the sum of the weights that the rows contradict", "exactly"),
    "people": ("Classes that cannot hold the stated number of people", "exactly"),
    "people_of_parts": ("Sizes of parts of classes that no people can have", "exactly"),
    "people_of_values": ("Counts of ‘{}’ that no people can have", "exactly"),
    "l_diversity": ("Different values of ‘{}’ in the least diverse class", "at least"),
    "entropy_l_diversity": ("Evenness of ‘{}’ in the least even class: exp(entropy)", "at least"),
    "recursive_c_l_diversity": ("Commonest value of ‘{}’ against the rarer ones in the worst class (c)", "below"),
    "t_closeness": ("Distance of ‘{}’ between the worst class and the whole table", "at most"),
    "alpha_k_anonymity": ("Share of the commonest value of ‘{}’ in the worst class", "at most"),
    "confidence_cap": ("Share of the value of ‘{}’ that comes nearest to its cap, in one class", "at most"),
    "sensitive_columns": ("Contradictions between params and promise about sensitive columns", "exactly"),
    "sensitive_values": ("Widths and caps of ‘{}’ that cannot follow from the released table", "exactly"),
    "epsilon": ("Privacy loss ε, computed again from the published parameters", "at most"),
    "delta": ("δ, computed again from the published parameters", "at most"),
    "undescribed_columns": ("Columns that no parameter describes: true values, unprotected", "exactly"),
    "cells_once": ("Combinations of public values that are not in the table exactly once", "exactly"),
    "epsilon_per_attribute": ("Answers with the privacy loss of the published parameters", "exactly"),
    "account_lines": ("Noise added, all of it in the privacy budget", ""),
    "account_spends_epsilon": (
        "Least privacy loss that a row has in the trees, against the requested ε",
        "exactly",
    ),
    "composition": ("Neighbouring tables and rows per person, from the parameters", ""),
    "rule": ("Settings, derived again from the published number of rows", ""),
    "rule_is_followed": ("Parts of the model that follow the published rule", "exactly"),
    "rows_per_tree": ("Rows that each tree saw, and trees planned and published", ""),
    "trees": ("Nodes of the trees, all possible under the published plan", ""),
    "tables": ("Noisy tables that do not fit their domains, or the noise that was paid for", "exactly"),
    "spikes": ("Frequent values that do not follow from the noisy counts that were paid for", "exactly"),
    "counted_domains": ("Columns whose domain differs from the one that was counted", "exactly"),
    "noise_is_stated": ("The noise is not too small: probability of so little noise", "at least"),
    "counts_agree": (
        "The noise is plausible: probability of such differences between counts of the same rows",
        "at least",
    ),
    "missing": ("Missing cells of ‘{}’ where its noisy counts show none", "exactly"),
    "rows_from_model": ("Counts of ‘{}’ by class that rows of the model cannot have", "exactly"),
    "places_in_cells": ("Places in cells of ‘{}’ that rows show too often or too seldom", "exactly"),
    "rows_from_values": ("Places of the table that are not made of the published values", "exactly"),
    "draws": ("Descriptions of draws that the statement contradicts", "exactly"),
    "blocks": ("Blocks beside the statement that no check reads", "exactly"),
    "cells_from_model": ("Cells that differ from the model", "exactly"),
    "columns_of_params": ("Columns that are named in the parameters", "exactly"),
    "released_values": ("Columns with another number of values than their domain", "exactly"),
    "column_means": ("Columns whose mean does not follow from the noisy counts", "exactly"),
    "forest": ("Trees and nodes", ""),
    "parameters": ("Method and parameters, the same in report and params", ""),
    "published_claim": (
        "Sentences about the paper's claim that the parameters contradict",
        "exactly",
    ),
    "adjacency": ("Neighbouring tables of the promise", "exactly"),
    "rows_per_unit": ("Rows of one person that were used", "exactly"),
    "budget": ("Privacy loss in the budget", "exactly"),
    "category_order": ("Order of the categories of ‘{}’ in the data file", ""),
    "one_answer_per_row": ("Cells shown although their row answers another attribute", "exactly"),
    "answers_as_promised": ("Figures of the promise that its parameters contradict", "exactly"),
    "stated_losses": ("Privacy losses in the parameters that their weights contradict", "exactly"),
    "figures": ("Figures of ‘{}’ that its parameters contradict", "exactly"),
    "budget_lines": ("Lines of the budget that the parameters contradict", "exactly"),
    "published_measures": ("Measures of the paper that the parameters contradict", "exactly"),
    "method": ("Places that name another method, version, preset or parameter", "exactly"),
    "promise": ("Parts of the promise that its parameters contradict", "exactly"),
    "assumptions": ("Files that state other assumptions", "exactly"),
    "conditions": ("Contradictions about which domains were taken from the table", "exactly"),
    "treatment": ("Columns with another role or treatment in the params", "exactly"),
    "verification": ("Checks of the report with another result now", "exactly"),
    "model": ("Contradictions between params, promise and method", "exactly"),
    "suppression": ("Counts and shares of rows left out that contradict each other", "exactly"),
    "rows_accounted": ("Rows released, left out and dropped", "exactly"),
    "roles": ("Columns with different roles in different files", "exactly"),
    "actions": ("Columns that the recoding treats differently", "exactly"),
    "types": ("Columns of another type than stated", "exactly"),
    "labels": ("Labels of ‘{}’ that do not follow from its recoding", "exactly"),
    "boxes": ("Combinations of labels that no box has", "exactly"),
    "told": ("Statements on ‘{}’ that its labels contradict", "exactly"),
    "disclosure_risk": ("Disclosure risks that differ from the recount", "exactly"),
    "population": ("Figures of the risk in a population that cannot be", "exactly"),
    "population_file": ("Figures of the risk in a population that differ from a recount of its file", "exactly"),
    "k_map": ("Fewest people of a group in the population file", "at least"),
    "utility": ("Measures of classes that differ from the recount", "exactly"),
    "prediction_of_target": ("Figures of prediction that differ from the recount", "exactly"),
    "descriptor": ("Entries of the descriptor that the report contradicts", "exactly"),
    "metadata": ("Entries of the data's metadata that anonkit does not write", "exactly"),
    "page": ("Report pages that do not match the report", "exactly"),
    "method_parameters": ("Columns that the named method treats differently", "exactly"),
    "shuffle_claim": ("Statements about the shuffled file follow from its parameters", "exactly"),
    "shuffle_epsilon": ("Privacy loss of the shuffled file, computed again", ""),
    "noise_spread": ("Standard errors between the spread of ‘{}’ and that of its stated noise", "at most"),
    "constraints": ("Public rules that the columns or conditions contradict", "exactly"),
    "public_rules": ("Rows that break a public rule", "exactly"),
    "domain": ("Cells of ‘{}’ outside its published domain", "exactly"),
    "kept_columns": ("Columns to be kept of which fewer than two values, ranges or groups are shown", "exactly"),
    "identifiers_in_clear": ("Unchanged columns whose cells look like identifiers", "exactly"),
    "identifiers_absent": ("Identifier columns in the file", "exactly"),
    "columns": ("Columns of the data file, and of the params", ""),
    "rows": ("Rows of the data file, and of the report", ""),
    "class_sizes": ("Different class sizes in the report, and in the recount", ""),
    "randomness": ("Source of the random numbers, the same in all files", ""),
    "unit": ("Person column, the same in all files", ""),
    "hash": ("SHA-256 of ‘{}’, against the descriptor", ""),
    "copy": ("Cells of the copy in the form ‘{}’, against the data", ""),
    "manifest": ("SHA-256 of ‘{}’, against the metadata of the data", ""),
    "signature": ("Signature of the release by the owner's key", ""),
    "signed_files": ("SHA-256 of the files, against the signed statement", ""),
    "claimed_delta": ("requested δ, against the promise", "at most"),
    "documents": ("Unknown keys, or values of a wrong kind, in the documents", "exactly"),
    "keys": ("Entries of the parameters that this method does not write", "exactly"),
    "anchor": ("Whether the target splits every table, as the published rule says", ""),
    "groups": ("Columns whose rare values are not grouped by their noisy counts", "exactly"),
    "pairs": ("Pairs of columns that differ from the published rule", "exactly"),
    "triple": ("Parts of the choice of three columns that differ from the published rule", "exactly"),
    "mixture_fits_triple": ("Distance of the mixture from the noisy table of three columns", "at most"),
    "mixtures": ("Mixtures whose parts do not add up or do not fit the columns", "exactly"),
    "rows_of_tables": ("Mixtures whose size differs from their noisy tables", "exactly"),
    "mixture_fits": ("Distance of the mixture from the noisy table of ‘{}’", "at most"),
    "marginals": ("Pairs, classes and parts of the mixture", ""),
    "target_bins": ("Bins of the target, the same in all files", ""),
    "requested_tables": ("Tables that were not requested, or are described differently", "exactly"),
    "measurements": ("Noisy measurements that belong to no table", "exactly"),
    "noisy_tables": ("Noisy tables whose size, grid or noise differs from the account", "exactly"),
    "groups_once": ("Groups that are not in their table exactly once", "exactly"),
    "intervals": ("Intervals that do not follow from the noise", "exactly"),
    "quantiles_ascend": ("Quantiles that do not ascend", "exactly"),
    "bounds": ("Bounds of ‘{}’ that its labels contradict", "exactly"),
    "bound_names": ("Names of bounds that belong to two columns", "exactly"),
    "means": ("Means of ‘{}’ that no class of its bounds can have", "exactly"),
    "means_stated": ("Statements on means that contradict each other", "exactly"),
    "means_counted": ("Statements of the number of means that the rows contradict", "exactly"),
    "centroids": ("Combinations that rows show and no centroid has, or that no row shows", "exactly"),
    "centroids_stated": ("Statements on centroids that contradict each other", "exactly"),
    "cells": ("Cells of ‘{}’ that are bounds of no label", "exactly"),
    "bound_classes": ("Smallest class of the file with bounds, and of its labels", ""),
    "batch_columns": ("Columns of the batch that differ from the release", "exactly"),
    "batch_rows": ("Rows of the batch that differ from the release", "exactly"),
    "exported_file": ("The exported file", ""),
    "exported_columns": ("Columns of the export that differ from the release", "exactly"),
    "exported_types": ("Columns of another type than the release has", "exactly"),
    "exported_rows": ("Rows of the export that differ from the release", "exactly"),
    "exported_cells": ("Cells of the export, compared with the release", ""),
    "croissant": ("Entries for catalogues (Croissant) that the release does not make", "exactly"),
    "registry": ("Entries for the registry of deployments that the release does not make", "exactly"),
}
_WITHOUT_COLUMN = {
    "values": ("Figures that do not follow from the noisy tables", "exactly"),
    "figures": ("Figures that their parameters contradict", "exactly"),
    "manifest": ("Files whose SHA-256 is in the metadata of the data", ""),
}
"""Checks that are of one column elsewhere."""

_GATHERED = {
    "labels": "Labels that do not follow from the recoding",
    "told": "Statements on columns that their labels contradict",
    "domain": "Cells outside their published domain",
    "figures": "Figures of columns that their parameters contradict",
    "rows_from_model": "Counts by class that rows of the model cannot have",
    "places_in_cells": "Places in cells of numbers that rows show too often or too seldom",
}


_LONGEST_VALUE = 40
"""Letters of a released value that are shown in a sentence."""


def shuffle_words(block: Mapping[str, Any] | None) -> str:
    """Return the effect of the secret shuffle for readers of the file alone; an empty string without a block."""
    if not block:
        return ""
    if not block["applies"]:
        return f"The secret order of the rows adds nothing: {block['reason']}."
    if not block["delta"]:
        return f"With {number(block['rows'])} rows their secret order adds nothing to the promise above."
    return (
        f"(ε, δ)-differential privacy with ε = {bound(block['epsilon'])} and δ = {bound(block['delta'])} when one of "
        f"the {number(block['rows'])} rows is replaced, since their order is random and secret. This has an "
        f"assumption of its own. {block['assumption']} Budgets go on charging the privacy loss above."
        f"{''.join(delta_among(block['delta'], block['rows'], 'rows') or ())}"
    )


def required_words(check: Mapping[str, Any]) -> str:
    """Return the requirement of a check, with its relation; a string has to be that string."""
    is_figure = not isinstance(check["required"], str) or check["required"] == "inf"
    relation = check_words(check["name"])[1] if is_figure else ""
    return f"{relation} {bound(check['required']) if check['required'] == 'inf' else number(check['required'])}".strip()


def number(value: object) -> str:
    """Return a value as text: thousands set off, six significant digits, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{words(key)} {number(entry)}" for key, entry in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(number(entry) for entry in value)
    return str(value)


def _float(value: float) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value.is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if 1e4 <= abs(value) < 1e15 else f"{value:.6g}"


def percent(share: float | None) -> str:
    """Return a share as a percentage; what is neither none nor all is never rounded to it."""
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return "< 0.1%"
    if 0.999 < share < 1:
        return "> 99.9%"
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def bound(value: object) -> str:
    """Return a privacy bound such as epsilon with six significant digits, never below what it is; "inf" is infinity."""
    if value == "inf":
        return "∞"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        return number(value)
    digit = 10.0 ** (math.floor(math.log10(value)) - 5)
    near = round(value / digit)
    return number((near if math.isclose(value / digit, near, rel_tol=1e-9) else math.ceil(value / digit)) * digit)


def people_alike(report: Mapping[str, Any]) -> int | None:
    """Return the fewest people with one whole set of rows, as the owner counted them; None where nobody did."""
    checks = report["verification"]["checks"]
    counted = [check["observed"] for check in checks if check["name"] == "k_anonymity_whole_sets"]
    return counted[0] if counted and isinstance(counted[0], int) and counted[0] > 0 else None


def pairs_words(columns: int, pairs: int, *, anchored: bool, triple: Sequence[str] = ()) -> str:
    """Return the number of measured pairs of columns, and what follows for the others; empty where there are none.

    Parameters
    ----------
    columns, pairs : int
        Noisy tables of columns and of pairs.
    anchored : bool
        Whether the target splits every table; it is none of the columns then.
    triple : sequence of str
        Three columns that were measured together with the target; none.
    """
    possible = columns * (columns - 1) // 2
    if not possible:
        return ""
    text = f"{number(pairs)} of {number(possible)} measured{', besides those with the target' if anchored else ''}"
    within = " within a class" if anchored else ""
    if triple:
        together = ", ".join(map(repr, triple))
        return f"{text}; {together} together with the target: other columns are drawn as if independent{within}"
    if not pairs:
        return f"{text}: columns are drawn as if independent{within}"
    if pairs < columns - 1:  # too few to join all columns
        return f"{text}: columns that these do not join are drawn as if independent{within}"
    return text


def delta_words(report: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the fault of a release's delta, and its consequence; None where nothing shows one.

    No release under noise publishes the number of rows, or people, of its table. It has as many as are shown, at least,
    where rows were drawn from it, and about as many where rows are drawn from a model.
    """
    delta, rows, promise = report["budget"].get("delta"), report["rows"].get("out") or 0, report["guarantee"]
    if not delta:
        return None
    about = "at least" if report.get("disclosure_risk") else "about"  # classes are counted of rows of the table alone
    whose = neighbours_of(promise)
    fewest = fewest_protected(rows, promise["parameters"].get("rows_per_unit", 1))
    return delta_among(delta, fewest, f"{whose.counted}, which the table has {about}")


def most_words(report: Mapping[str, Any]) -> str:
    """Return the largest number of rows or people for which the delta of a release to be far below one in them."""
    delta, whose = report["guarantee"]["parameters"]["delta"], neighbours_of(report["guarantee"])
    return (
        f"The table has {number(most_protected(delta))} {whose.counted} at most: δ = {bound(delta)} is then far below "
        "one in their number."
    )


def neighbours_of(promise: Mapping[str, Any]) -> Neighbours:
    """Return the neighbours of a guarantee block."""
    return Neighbours(adjacency=promise["adjacency"], unit=promise["parameters"].get("unit_column"))


def delta_among(delta: float, protected: int, named: str) -> tuple[str, str] | None:
    """Return the fault of a delta for so many rows or people, and its consequence; None where there is none."""
    if is_far_below(delta, protected):
        return None
    shown = delta * protected
    far = "" if shown >= 1 else "far "
    first = f"δ = {bound(delta)} is not {far}below one in {number(protected)} {named}:"
    if shown >= 1:
        return first, " a release that shows a row in the open would keep such a promise."
    shows = " a release that shows each row in the open with this probability would keep such a promise, and "
    return first, f"{shows}{one_in(shown)} of such releases shows one."


def value_words(value: object) -> str:
    """Return a released value in quotes, a band of numbers by its ends, and a missing one by what it is."""
    if value is None:
        return "a missing cell"
    if isinstance(value, list):
        return " to ".join(number(end) for end in value)
    text = number(value)
    return f"‘{text}’" if len(text) <= _LONGEST_VALUE else f"‘{text[:_LONGEST_VALUE]}…’"


def one_in(risk: float) -> str:
    """Return a probability as `1 in n`, n rounded down."""
    return f"1 in {number(math.floor(1 / risk + 1e-9))}" if risk > 0 else "none"


def words(name: str) -> str:
    """Return the key of a report as words."""
    return _NAMES.get(name, name.replace("_", " "))


def heading(name: str) -> str:
    """Return the key of a report as words that begin a line; symbols such as k, ε or l-diversity stay small."""
    text = words(name)
    return text[:1].upper() + text[1:] if text[1:2].isalpha() else text


def date_text(moment: str) -> str:
    """Return an ISO 8601 moment as a date and time in UTC; any other text as it is."""
    try:
        when = datetime.fromisoformat(moment).astimezone(UTC)
    except ValueError:
        return moment
    return f"{when.day} {_MONTHS[when.month - 1]} {when.year}, {when:%H:%M} UTC"


def gathered(checks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return checks for reading: those of one kind that passed alike on several attributes become one.

    The name of such a check has the number of its attributes for the attribute, as in `domain:11 columns`.
    """
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for check in checks:
        kind = check["name"].partition(":")[0]
        same = (kind, check["observed"], check["required"]) if kind in _GATHERED and check["passed"] else (id(check),)
        alike.setdefault(same, []).append(check)
    return [
        {**member[0], "name": f"{same[0]}:{len(member)} columns"} if len(member) > 1 else dict(member[0])
        for same, member in alike.items()
    ]


def check_words(name: str) -> tuple[str, str]:
    """Return the subject of a check, and the relation of its finding to the requirement."""
    kind, _, attribute = name.partition(":")
    if kind in _GATHERED and attribute.removesuffix(" columns").isdigit():
        return f"{_GATHERED[kind]}, in each of {attribute}", _CHECKS[kind][1]
    if not attribute and kind in _WITHOUT_COLUMN:
        return _WITHOUT_COLUMN[kind]
    if kind in _CHECKS:
        text, relation = _CHECKS[kind]
        return text.format(attribute), relation
    return heading(kind) + (f": {attribute}" if attribute else ""), ""
