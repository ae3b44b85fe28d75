{# Every class has at least l different values of the sensitive column, counted over its rows.

   A missing sensitive cell, not-a-number and a text that stands for the lack of a value are no value unless
   missing_is_value: then they are one value together. Texts are one value where they are alike after folding. Numbers no
   further apart than `width` are one value: that of params.json, or 0 for codes. A numeric column without it fails, and so
   does a width with an l above 2: they cannot be counted here. Texts that SQL may not fold are not counted.
   An empty table fails. What is returned are numbers of values and of classes, no cell. #}
{% test l_diverse(model, columns, sensitive, l, missing_is_value=false, width=none, categories=[]) %}
{{ anonkit.refuse_unless(l is integer and l >= 1, 'l is an integer of 1 or more') }}
{{ anonkit.refuse_unless(missing_is_value is boolean, 'missing_is_value is true or false') }}
{{ anonkit.refuse_unless(width is none or (width is number and width is not boolean and width >= 0),
                         'width is a number of 0 or more') }}
{{ anonkit.refuse_unless(not width or l <= 2, 'with a width, an l above 2 cannot be counted here') }}
with cells as (
    {{ anonkit.named_cells(model, columns, sensitive, categories) }}
),
classes as (
    select
    {% if width %}
        case
            when count(f) = 0 then 0
            when max(cast(s as double precision)) > min(cast(s as double precision)) + {{ width }} then 2
            else 1
        end
    {% else %}
        count(distinct case when uncertain = 0 then f end)
    {% endif %}
        {% if missing_is_value %} + max(case when f is null then 1 else 0 end){% endif %} as l
    from cells
    group by {{ anonkit.class_keys(columns) }}
)
select l, count(*) as classes from classes where l < {{ l }} group by l
union all
select 0, 0 where not exists (select 1 from classes)
{% if width is none and l > 1 %}
union all
select -1, 0 where exists (select 1 from cells where measure = 1)
{% endif %}
{% endtest %}
