{# What the tests share: the cells that are looked at, under names of their own, and a refusal of what cannot be meant.
   Classes are of cells to the letter, whatever the collation of a column takes for one. #}

{% macro named_cells(model, columns, sensitive=none) %}
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
        end as s
    {% endif %}
    from {{ model }}
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
