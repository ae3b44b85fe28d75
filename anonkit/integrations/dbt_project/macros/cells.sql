{# What the tests share: the cells that are looked at, under names of their own, and a refusal of what cannot be meant.
   Classes are of cells to the letter, whatever the collation of a column takes for one.

   A sensitive cell stands there three times. `s` is the cell. `f` is what counts as its value, as a text: folded, and null
   where it stands for a missing cell, by the list of `no_values`, unless it is one of the categories. A text with a letter
   that SQL may not fold as anonkit does has `uncertain` = 1. `measure` is 1 for a number. #}

{% macro named_cells(model, columns, sensitive=none, categories=[]) %}
{{ anonkit.refuse_unless(columns is sequence and columns is not string and columns is not mapping and columns | length > 0,
                         'columns is a list of names') }}
{{ anonkit.refuse_unless(columns | unique(case_sensitive=true) | list | length == columns | length,
                         'a column is named once') }}
{{ anonkit.refuse_unless(sensitive is none or sensitive not in columns,
                         'the sensitive column, or the unit, is none of the columns') }}
    select
    {% for name in columns %}
        cast({{ anonkit.quoted(name) }} as {{ dbt.type_string() }}) collate "C" as k{{ loop.index }},
    {% endfor %}
    {% if sensitive is none %}
        1 as s
    {% else %}
        case
            when lower(cast({{ anonkit.quoted(sensitive) }} as {{ dbt.type_string() }})) = 'nan' then null
            else {{ anonkit.quoted(sensitive) }}
        end as s,
        {% set folded = anonkit.folded(anonkit.quoted(sensitive)) %}
        case when {{ folded }} in ({{ anonkit.marks(categories) }}) then null else {{ folded }} end as f,
        case when {{ anonkit.is_plain(folded) }} and not {{ anonkit.has_nul(anonkit.quoted(sensitive)) }} then 0 else 1 end as uncertain,
        case when {{ anonkit.is_number(anonkit.quoted(sensitive)) }} then 1 else 0 end as measure
    {% endif %}
    from {{ model }}
{% endmacro %}

{# A cell as a text that is compared: NFKC, case folding, trimmed. DuckDB has no NFKC: what it would change is uncertain. #}
{% macro folded(cell) %}
    {%- set normal = 'normalize(cast(' ~ cell ~ ' as text), NFKC)' if target.type == 'postgres'
        else 'nfc_normalize(cast(' ~ cell ~ ' as varchar))' -%}
    trim(both from replace(replace(lower({{ normal }}), 'ß', 'ss'), 'ς', 'σ'))
{%- endmacro %}

{# Letters that are folded alike everywhere, folded already; whatever else a text has is uncertain. #}
{% macro is_plain(folded) %}
    {%- set letters = '!-@\\[-`{-~ a-zà-öø-ÿāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįıĵķĺļľłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷźżžάέήία-ρσ-ωό-ώа-џґא-ת一-鿿ぁ-ゖァ-ヺー가-힣–—…' -%}
    ({{ folded }} is null or {{ 'regexp_full_match(' ~ folded ~ ", '[" ~ letters ~ "]*')" if target.type != 'postgres'
        else folded ~ " ~ '^[" ~ letters ~ "]*$'" }})
{%- endmacro %}

{# DuckDB normalizes a text up to its first NUL alone; PostgreSQL stores none. #}
{% macro has_nul(cell) %}
    {{- 'false' if target.type == 'postgres' else 'coalesce(contains(cast(' ~ cell ~ ' as varchar), chr(0)), false)' -}}
{% endmacro %}

{% macro is_number(cell) %}
    {%- set kind = 'cast(pg_typeof(' ~ cell ~ ') as text)' if target.type == 'postgres' else 'lower(typeof(' ~ cell ~ '))' -%}
    ({{ kind }} in ('smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision', 'tinyint', 'hugeint', 'float',
        'double', 'utinyint', 'usmallint', 'uinteger', 'ubigint') or {{ kind }} like 'decimal%')
{%- endmacro %}

{# The list of texts that are no value, without declared categories, as SQL. #}
{% macro marks(categories) %}
    {{- anonkit.refuse_unless(categories is sequence and categories is not string and categories is not mapping,
                              'categories is a list of texts') -}}
    {%- set values = [] -%}
    {%- for text in categories -%}{%- do values.append((text ~ '') | trim | lower) -%}{%- endfor -%}
    {%- set left = anonkit.no_values() | reject('in', values) | list -%}
    {%- for text in left -%}'{{ text | replace("'", "''") }}'{{ ', ' if not loop.last }}{%- endfor -%}
{% endmacro %}

{% macro class_keys(columns) %}
    {%- for name in columns -%}k{{ loop.index }}{{ ', ' if not loop.last }}{%- endfor -%}
{% endmacro %}

{# Quoted whatever it is called: spaces, capitals, words of SQL, quotes. #}
{% macro quoted(name) %}
    {{- anonkit.refuse_unless(name is string, 'the name of a column is a text') -}}
    {{- adapter.quote(name | replace('"', '""')) -}}
{% endmacro %}

{% macro refuse_unless(holds, rule) %}
    {%- if not holds -%}{{ exceptions.raise_compiler_error('anonkit: ' ~ rule) }}{%- endif -%}
{% endmacro %}
