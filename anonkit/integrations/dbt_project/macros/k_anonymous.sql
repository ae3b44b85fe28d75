{# Every combination of the columns is shared by at least k rows, or by k people where a unit is named.

   A missing cell is a value like any other. Rows without a unit are nobody's. An empty table fails. What is returned are
   sizes of classes that are too small and how many there are of each, no cell of them. #}
{% test k_anonymous(model, columns, k, unit=none) %}
{{ anonkit.refuse_unless(k is integer and k >= 1, 'k is an integer of 1 or more') }}
with cells as (
    {{ anonkit.named_cells(model, columns, unit) }}
),
classes as (
    select {% if unit is none %}count(*){% else %}count(distinct s){% endif %} as n
    from cells
    group by {{ anonkit.class_keys(columns) }}
)
select n, count(*) as classes from classes where n < {{ k }} group by n
union all
select 0, 0 where not exists (select 1 from classes)
{% endtest %}
