# SPDX-License-Identifier: Apache-2.0
"""The draft of a randomized release: public domains, the promise of its mechanisms, params and report.

The central guarantee of a randomized table to those who see only its shuffled file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.documents import ParamsPart
from anonkit.domains.cell_values import refuse_kinds
from anonkit.domains.number_bins import Categories, Grid, notes_on_bins
from anonkit.errors import PolicyError, option
from anonkit.mechanisms.privacy_amplification import (
    MOST_LOSS,
    ResponseRatios,
    RowAnswers,
    default_delta,
    uniform_shares,
)
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import PublicDomains, conditions_of, public_assumptions
from anonkit.promises.guarantee import loss_json
from anonkit.promises.noise_promises import (
    FEWEST_SHUFFLED,
    SHUFFLE_ASSUMPTION,
    SHUFFLE_BOUND,
    LocalDP,
    shuffle_obstacle,
)
from anonkit.protocols import Draft, Engine, Source
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import TransformedResponse, breach_width
from anonkit.published.channels.response_channel import Channel, ResponseMatrix
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.published.released_codes import type_of_categories, type_of_numbers
from anonkit.randomized_response.randomized_rows import RandomizeBatch
from anonkit.randomness import Randomness
from anonkit.report.blocks import Action, Budget, ColumnFacts, Expense, ReportColumn, column_entry, spent_on


def shuffled_view(table: PublishedTable, policy: Policy, n_rows: int, delta: float | None) -> dict[str, Any]:
    """Return the `shuffle` block of the report: a central (epsilon, delta), or why there is none.

    It says nothing that the local promise does not allow: it follows from the published mechanisms and the number of
    rows, which is public.

    Parameters
    ----------
    table : PublishedTable
        The mechanisms.
    policy : Policy
        Resolved roles; with a unit column people may have several rows.
    n_rows : int
        Rows of the release.
    delta : float, optional
        In (0, 1); by default 1e-6, or 1 / (100 n) if that is smaller.
    """
    reason = _obstacle(table, policy)
    if reason is not None:
        return {"applies": False, "reason": reason}
    target_delta = default_delta(n_rows) if delta is None else delta
    epsilon = table.record_epsilon
    if n_rows >= FEWEST_SHUFFLED and epsilon <= MOST_LOSS:
        row = _row_answers(table)
        amplified = row.amplified(target_delta, n_rows)
        if amplified < row.epsilon:  # else the local promise to its last digit, which sums of logarithms do not have
            epsilon = amplified
    return {
        "applies": True,
        "epsilon": epsilon,
        "delta": target_delta if epsilon < table.record_epsilon else 0,
        "rows": n_rows,
        "adjacency": "replace one record",
        "assumption": SHUFFLE_ASSUMPTION,
        "bound": SHUFFLE_BOUND,
    }


def _obstacle(table: PublishedTable, policy: Policy) -> str | None:
    """Return the reason why the order of the rows hides nobody; None when it does."""
    mechanisms = {attribute.name: attribute.mechanism for attribute in table.attributes}
    if table.target is not None and table.target.mechanism is not None:
        mechanisms[table.target.name] = table.target.mechanism
    bare = [
        name for name, mechanism in mechanisms.items() if not isinstance(mechanism, Channel) or mechanism.ratio is None
    ]
    if bare or policy.unit is not None or not mechanisms:
        return shuffle_obstacle(bare, policy.unit)
    return None


def _row_answers(table: PublishedTable) -> RowAnswers:
    """Return the design of a row's answers: all attributes and the label independently, or one attribute."""
    channels = [_answers(attribute.mechanism) for attribute in table.attributes]
    label = [] if table.target is None or table.target.mechanism is None else [_answers(table.target.mechanism)]
    if table.asked_column is None:
        return RowAnswers.every([*channels, *label])
    answer = RowAnswers.one_of(channels, uniform_shares(len(channels)))
    return answer.compose(RowAnswers.every(label)) if label else answer


def _answers(mechanism: object) -> ResponseRatios:
    assert isinstance(mechanism, Channel)  # noqa: S101 - `_obstacle` came first
    assert mechanism.ratio is not None  # noqa: S101
    return ResponseRatios(ratio=mechanism.ratio, blanket=mechanism.blanket)


ANSWERED_COLUMN = "asked_attribute"
"""Name of the column that records which attribute a row answers."""

LABELS = ("randomize", "clear")
"""Treatments of the target."""

_REALISED = 0.98
"""Share of the given epsilon below which the owner gets a note of the realized one."""
_CONFIDENCES = (0.999, 0.99, 0.95, 0.5)


# --- the promise -------------------------------------------------------------------------------------------------


def clear_target(domains: PublicDomains) -> PublishedTarget | None:
    """Return the description of a target that is published unchanged.

    Raises
    ------
    PolicyError
        The policy designs answers for it.
    """
    target = domains.target
    if target is None:
        return None
    if target.answers is not None:
        raise PolicyError(
            f"column {target.name!r}: {target.answers.key} is for a label that is randomized, this one stays clear",
            f"{option('label', 'randomize')}, or leave the key out",
        )
    clear = RandomizedResponse.clear(target.domain.size)
    return PublishedTarget(name=target.name, domain=target.domain, mechanism=clear)


def local_promise(table: PublishedTable, policy: Policy) -> LocalDP:
    """Return the promise that follows from the mechanisms of a table.

    Parameters
    ----------
    table : PublishedTable
        The published mechanism of every attribute and of the target.
    policy : Policy
        Its conditions: domains taken from the data, suspected identifiers.

    Returns
    -------
    LocalDP
        With the loss of every attribute and of a whole record. Columns released in clear, columns under transformed
        response (no bound), and columns whose matrix has a zero beside a non-zero probability (infinite loss) are
        listed apart.
    """
    target = table.target
    losses = table.losses
    transformed = [
        attribute.name for attribute in table.attributes if isinstance(attribute.mechanism, TransformedResponse)
    ]
    clear = [attribute.name for attribute in table.attributes if _is_clear(attribute.mechanism)]
    clear += [target.name] if target is not None and _is_clear(target.mechanism) else []
    betrayed = [name for name, loss in losses.items() if loss == np.inf and name not in (*transformed, *clear)]
    return LocalDP(
        epsilon=table.record_epsilon,
        attributes=losses,
        one_answer=table.asked_column is not None,
        clear=tuple(clear),
        unbounded=tuple(betrayed),
        transformed=tuple(transformed),
        hidden_with=target.name if table.joint and target is not None else None,
        assumptions=assumptions_of(table, policy),
        conditional=policy.conditional_columns,
        identifiers_from_data=policy.identifiers_from_data,
    )


def _is_clear(mechanism: object) -> bool:
    """Return True if every answer is the truth."""
    if isinstance(mechanism, RandomizedResponse):
        return mechanism.truth_probability == 1
    if isinstance(mechanism, ResponseMatrix):
        return bool((np.diagonal(mechanism.response_matrix()) == 1).all())
    return False


def assumptions_of(table: PublishedTable, policy: Policy) -> tuple[str, ...]:
    """Return the conditions of the promise, as whole sentences."""
    sentences = dict.fromkeys(
        text[:1].upper() + text[1:] + "." for attribute in table.attributes for text in attribute.mechanism.assumptions
    )
    return (*public_assumptions(policy), *sentences)


@dataclass(frozen=True, kw_only=True)
class AnswerAccounting(ParamsPart, keys=("**table",)):
    """The statement of a randomized table: its published mechanisms, each of which answers for one column.

    Rows are answered independently, so that a record loses what its own answers lose.
    """

    table: PublishedTable

    @property
    def budget(self) -> Budget:
        """The report's `budget` block."""
        losses: list[Expense] = [{"name": name, "epsilon": loss_json(loss)} for name, loss in self.table.losses.items()]
        return spent_on(losses, loss_json(self.table.record_epsilon), 0)


# --- the draft ---------------------------------------------------------------------------------------------------


def draft_randomized(
    source: Source,
    policy: Policy,
    engine: Engine,
    rng: Randomness,
    table: PublishedTable,
    domains: PublicDomains,
    *,
    shuffle_delta: float | None = None,
    notes: Sequence[str] = (),
) -> Draft:
    """Return the draft of a table whose every released cell went through its mechanism.

    Parameters
    ----------
    source, policy, engine, rng
        As a method is given them.
    table : PublishedTable
        What is done to each column.
    domains : PublicDomains
        What it was made of: cells of numbers are read within their public bounds.
    shuffle_delta : float, optional
        Failure probability at which the report states what the shuffled file reveals.
    notes : sequence of str
        What the owner should read.

    Privacy
    -------
    The noise key lives in the batch function only; it is never written, shown or logged.
    """
    if ANSWERED_COLUMN in policy.columns and table.asked_column is not None:
        raise PolicyError(f"column {ANSWERED_COLUMN!r} has a name that the release needs", "rename it")
    numbers = [attribute.name for attribute in table.attributes if attribute.is_number]
    numbers += [table.target.name] if table.target is not None and table.target.is_number else []
    refuse_kinds(source.schema, numbers)
    types = _types(table)
    names = [name for name in (*policy.columns, ANSWERED_COLUMN) if name in types]
    schema = pa.schema([(name, types[name]) for name in names])
    randomize = RandomizeBatch(table=table, key=rng.key("noise"), schema=schema, bounds=domains.bounds)
    return Draft(
        data=engine.map_batches(source, randomize, schema),
        published={"conditions": list(conditions_of(policy))} if policy.is_conditional else {},
        statement=AnswerAccounting(table=table),
        columns=_column_entries(policy, table),
        rows={"in": source.n_rows, "suppressed": 0},
        details={
            "published_measures": _published_measures(table),
            "shuffle": shuffled_view(table, policy, source.n_rows, shuffle_delta),
        },
        notes=[*notes, *(() if table.target is None else notes_on_bins(table.target.name, table.target.domain))],
    )


def realised_notes(required: float | None, realised: Mapping[str, float]) -> list[str]:
    """Describe where answers are randomized more strongly than required, since weights are integer numbers of words.

    Parameters
    ----------
    required : float, optional
        Required privacy loss; None when something else is required.
    realised : mapping
        What is known by which name, to its loss.
    """
    weaker = {name: loss for name, loss in realised.items() if required is not None and loss < _REALISED * required}
    return [
        f"epsilon {required:g} was requested, and {name} has {loss:.3g}: an answer is drawn with one random word, "
        "and no word allows more"
        for name, loss in weaker.items()
    ]


def _types(table: PublishedTable) -> dict[str, pa.DataType]:
    types = {attribute.name: _type_of(attribute.answers()) for attribute in table.attributes}
    if table.target is not None:
        types[table.target.name] = _type_of(table.target.shown)
    if table.asked_column is not None:
        types[table.asked_column] = pa.dictionary(pa.int32(), pa.string())
    return types


def _type_of(answers: Categories | Grid | None) -> pa.DataType:
    """Return the type of a column of answers; a transformed number, which has no domain, is a float."""
    if isinstance(answers, Categories):
        return type_of_categories(answers)
    return pa.float64() if answers is None else type_of_numbers(answers)


# --- the report --------------------------------------------------------------------------------------------------


def _column_entries(policy: Policy, table: PublishedTable) -> list[ReportColumn]:
    facts = {attribute.name: _facts(attribute) for attribute in table.attributes}
    mechanism = None if table.target is None else table.target.mechanism
    is_clear = mechanism is not None and _is_clear(mechanism)
    clear_target = table.target.name if table.target is not None and is_clear else None
    if table.target is not None:
        facts[table.target.name] = _target_facts(table.target)
    out: list[ReportColumn] = []
    for name, column in policy.columns.items():
        action: Action = "kept" if name == clear_target else "randomized" if name in facts else "dropped"
        entry = column_entry(name, str(column.role), action, is_sensitive=column.is_sensitive)
        if name in facts:
            out.append({**entry, **facts[name]})
        else:
            reason = (
                "identifiers are never released"
                if column.role in (Role.IDENTIFIER, Role.UNIT)
                else f"declared {column.role}: only what is randomized is released"
            )
            out.append({**entry, "reason": reason})
    if table.asked_column is not None:
        reason = "which attribute the row answers; drawn without a look at the data"
        out.append({"name": table.asked_column, "role": "insensitive", "action": "synthesized", "reason": reason})
    return out


def _facts(attribute: PublishedAttribute) -> ColumnFacts:
    mechanism = attribute.mechanism
    facts: ColumnFacts = {"mechanism": mechanism.mechanism, "epsilon": loss_json(attribute.epsilon)}
    if isinstance(mechanism, RandomizedResponse):
        facts["p_keep"] = mechanism.truth_probability
    if isinstance(mechanism, RandomizedResponse | ResponseMatrix):
        facts["breach"] = float(mechanism.breach().max())
    domain = attribute.answers()
    if domain is not None:
        facts["released_values"] = domain.size
    return {**facts, **_facts_of_params(attribute)}


def _facts_of_params(column: PublishedAttribute | PublishedTarget) -> ColumnFacts:
    """Return the domain and the parameters as `params.json` has them: no single file can be changed unseen."""
    params = column.to_params()
    return {"domain": params["domain"], "parameters": params["parameters"]}


def _target_facts(target: PublishedTarget) -> ColumnFacts:
    mechanism, twice = target.mechanism, _facts_of_params(target)
    if mechanism is None:
        return {"reason": "hidden together with each answer", **twice}
    if _is_clear(mechanism):
        reason = "the class label is published unchanged, as the method does or as requested"
        return {"reason": reason, **twice}
    loss = loss_json(mechanism.epsilon)
    return {"mechanism": mechanism.mechanism, "epsilon": loss, **twice}


def _published_measures(table: PublishedTable) -> dict[str, Any]:
    """Return the measures of the method's own paper; they come second to epsilon."""
    out: dict[str, Any] = {}
    answered = [
        attribute
        for attribute in table.attributes
        if isinstance(attribute.mechanism, RandomizedResponse | ResponseMatrix)
    ]
    if answered:
        out["breach"] = {
            "how": "chance that an answer is true, times the chance that a true answer is believed; ε says more",
            **{attribute.name: float(attribute.mechanism.breach().max()) for attribute in answered},  # type: ignore[union-attr]
        }
    if any(isinstance(attribute.mechanism, TransformedResponse) for attribute in table.attributes):
        out["breach_width"] = breach_widths()
    return out


def breach_widths() -> Mapping[str, Any]:
    """Return table 2 of paper 004: widths of central intervals of a normal attribute, in standard deviations."""
    return {
        "how": "in standard deviations of the attribute; it ignores what is shown, so it describes the data, not the "
        "protection",
        **{
            f"{confidence:.1%}".replace(".0%", "%"): round(breach_width(1.0, confidence), 2)
            for confidence in _CONFIDENCES
        },
    }
