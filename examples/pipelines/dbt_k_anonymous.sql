{# A generic dbt test: put it into tests/generic/ of your project, then in schema.yml
     data_tests:
       - k_anonymous: { columns: [age, sex, zip], k: 10 }
   It returns the sizes of the classes that are too small, and no cell of them; an empty table fails too. #}
{% test k_anonymous(model, columns, k) %}
with classes as (
    select count(*) as n
    from {{ model }}
    group by {{ columns | join(', ') }}
)
select n, count(*) as classes from classes where n < {{ k }} group by n
union all
select 0, 0 where not exists (select 1 from {{ model }})
{% endtest %}
