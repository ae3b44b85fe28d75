# SPDX-License-Identifier: Apache-2.0
"""Text columns read by the written form of their numbers, in every source: one batch function for all engines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.cell_keys import cell_numbers
from anonkit.domains.written_numbers import NumberForm
from anonkit.engines.reading.many_digits import has_many_digits
from anonkit.errors import SourceError
from anonkit.policy.column_declarations import ColumnType, Role
from anonkit.policy.declaration import Policy


def reading_forms(schema: pa.Schema, policy: Policy) -> ReadForms | None:
    """Return the reader of the text columns of a table whose form is declared; None where none is.

    Where no cell may be read by others (`Policy.cell_by_cell`) they stay strings, of plain decimals.
    """
    forms = {
        field.name: form
        for field in schema
        if (form := policy.column(field.name).number_form) is not None
        and (pa.types.is_string(field.type) or pa.types.is_dictionary(field.type))
    }
    if not forms:
        return None
    kind = pa.string() if policy.cell_by_cell else pa.float64()
    lenient = frozenset(name for name in forms if policy.cell_by_cell or policy.column(name).bounds is not None)
    fields = [field.with_type(kind) if field.name in forms else field for field in schema]
    shown = (Role.SENSITIVE, Role.INSENSITIVE, Role.TARGET)
    exact = frozenset(name for name in forms if not policy.cell_by_cell and policy.column(name).role in shown)
    return ReadForms(forms=forms, lenient=lenient, exact=exact, schema=pa.schema(fields))


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadForms:
    """Reads the numbers of text columns by their form: a function of each cell alone."""

    forms: dict[str, NumberForm]
    lenient: frozenset[str]
    """Columns in which a cell of another form is missing; in others it refuses the table."""
    exact: frozenset[str]
    """Columns whose numbers are released as they are: none of their digits may be lost."""
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with these columns read."""
        arrays = [self._column(field, batch.column(field.name), row) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, field: pa.Field, array: pa.Array, row: int) -> pa.Array:
        form = self.forms.get(field.name)
        if form is None:
            return array
        texts = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
        plain = form.plain(texts)
        if field.name not in self.lenient and plain.null_count > texts.null_count:
            odd = pc.and_(pc.is_valid(texts), pc.is_null(plain)).to_numpy(zero_copy_only=False)
            raise SourceError(
                f"column {field.name!r}: the cell in row {row + int(np.argmax(odd)) + 1} is no number written with "
                f"{form}",
                "correct it, list its text in missing_values, or correct the form in the policy",
            )
        if pa.types.is_string(field.type):
            return plain
        if field.name in self.exact and has_many_digits(plain.drop_null()):
            raise SourceError(
                f"column {field.name!r} is released as it is, and one of its numbers has more than 17 digits, of which "
                "the last would be lost",
                f'round them, or leave the form out of the policy and declare type = "{ColumnType.TEXT}"',
            )
        return pc.if_else(plain.is_valid(), pa.array(cell_numbers(plain)), None)
