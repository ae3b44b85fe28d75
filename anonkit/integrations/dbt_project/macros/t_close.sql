{# The values of the sensitive column in every class are distributed as in the whole table, but for a distance of t.

   The earth mover's distance: with equal steps between values (total variation), or with ordered steps from one value
   to the next, for numbers and dates. The ordered distance is never the larger one. A class in which nobody has a value
   is at distance 1. Missing is as in l_diverse; with ordered steps it comes last, and cells are as they stand. Texts that
   SQL may not fold fail. An empty table fails. What is returned are the number of classes that are too far and the
   largest distance, no cell. #}
{% test t_close(model, columns, sensitive, t, ordered=false, missing_is_value=false, categories=[]) %}
{{ anonkit.refuse_unless(t is number and t is not boolean and 0 <= t <= 1, 't is a number from 0 to 1') }}
{{ anonkit.refuse_unless(ordered is boolean, 'ordered is true or false') }}
{{ anonkit.refuse_unless(missing_is_value is boolean, 'missing_is_value is true or false') }}
{% set keys = anonkit.class_keys(columns) %}
with cells as (
    {{ anonkit.named_cells(model, columns, sensitive, categories) }}
),
counted as (
    select {{ keys }}, {{ 's' if ordered else 'f as s' }}, count(*) as n
    from cells
    group by {{ keys }}, {{ 's' if ordered else 'f' }}
),
numbered as (
    select
        dense_rank() over (order by {{ keys }}) as c,
        dense_rank() over (order by case when s is null then 1 else 0 end, s) as v,
        case when s is null then 1 else 0 end as missing,
        n
    from counted
),
everyone as (
    select distinct c from numbered
),
held as (
    select c, v, cast(n as double precision) as n from numbered{% if not missing_is_value %} where missing = 0{% endif %}
),
classes as (
    select c, sum(n) as n from held group by c
),
value_counts as (
    select v, sum(n) as n from held group by v
),
everything as (
    select sum(n) as n, count(*) as n_values from value_counts
),
{% if ordered %}
steps as (
    select
        classes.c,
        sum(coalesce(held.n, 0)) over in_order / classes.n - sum(value_counts.n) over in_order / everything.n as gap
    from classes
    cross join value_counts
    cross join everything
    left join held on held.c = classes.c and held.v = value_counts.v
    window in_order as (partition by classes.c order by value_counts.v rows unbounded preceding)
),
far as (
    select steps.c, coalesce(sum(abs(gap)) / nullif(max(everything.n_values) - 1, 0), 0) as distance
    from steps
    cross join everything
    group by steps.c
),
{% else %}
far as (
    select
        held.c,
        sum(greatest(held.n / classes.n - value_counts.n / everything.n, 0)) as distance
    from held
    join classes on classes.c = held.c
    join value_counts on value_counts.v = held.v
    cross join everything
    group by held.c
),
{% endif %}
distances as (
    select coalesce(far.distance, 1) as distance from everyone left join far on far.c = everyone.c
)
select count(*) as classes, max(distance) as farthest
from distances
where distance > {{ t }} + 1e-9
having count(*) > 0
union all
select 0, 1 where not exists (select 1 from cells)
{% if not ordered %}
union all
select 0, 1 where exists (select 1 from cells where uncertain = 1)
{% endif %}
{% endtest %}
