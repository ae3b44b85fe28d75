{# Every class has at least l different values of the sensitive column, counted over its rows.

   A missing sensitive cell, not-a-number and a text that reads `nan` are no value unless missing_is_value: then they are
   one value together. An empty table fails. What is returned are numbers of values and of classes, no cell. #}
{% test l_diverse(model, columns, sensitive, l, missing_is_value=false) %}
{{ anonkit.refuse_unless(l is integer and l >= 1, 'l is an integer of 1 or more') }}
{{ anonkit.refuse_unless(missing_is_value is boolean, 'missing_is_value is true or false') }}
with cells as (
    {{ anonkit.named_cells(model, columns, sensitive) }}
),
classes as (
    select count(distinct s){% if missing_is_value %} + max(case when s is null then 1 else 0 end){% endif %} as l
    from cells
    group by {{ anonkit.class_keys(columns) }}
)
select l, count(*) as classes from classes where l < {{ l }} group by l
union all
select 0, 0 where not exists (select 1 from classes)
{% endtest %}
