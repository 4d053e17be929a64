{#
  Filter of an incremental model: rows of the source that changed since the model took them, one watermark per account.
  IDs rise in commit order within an account, not over several: one max(_change_id) over all of them loses the changes
  of whoever is behind. Exact, no clock involved. An account that the model has nothing of is taken whole.

  `rows` is the source's alias in the model's FROM, which this follows: it ends with a WHERE, to which you may add AND …
  `relation` is that source, a mirrored table: its function <table>_since finds the changes by their index. Without it
  the watermarks are joined, and PostgreSQL reads the whole table for a few changes.
  The model keeps the columns _user_id and _change_id as they are. On a full refresh, and with the variable
  research_mirror_compare, all rows count as changed.
#}
{% macro changed_since_watermark(rows, relation=none) -%}
  {#- Outside of the condition: dbt learns while it parses what a model depends on. -#}
  {%- set accounts = source('research_mirror', 'freshness') -%}
  {%- if not is_incremental() or research_mirror.takes_all_rows() -%}
    where true
  {%- elif relation is none -%}
    left join ({{ research_mirror.watermarks(accounts) }}) as seen on seen._user_id = {{ rows }}._user_id
    where {{ rows }}._change_id > coalesce(seen.mark, 0)
  {%- else -%}
    where ({{ rows }}._user_id, {{ rows }}._change_id) in (
      select _user_id, _change_id
      from {{ adapter.quote(relation.schema) }}.{{ adapter.quote(relation.identifier ~ '_since') }}((
        select coalesce(jsonb_object_agg(_user_id, mark), '{}') from ({{ research_mirror.watermarks(accounts) }}) as m
      ))
    )
  {%- endif -%}
{%- endmacro %}

{# The model's watermark for each account: looked up where the model has the index, else by reading all of it. #}
{% macro watermarks(accounts) -%}
  {%- if config.get('indexes', []) | selectattr('columns', 'equalto', ['_user_id', '_change_id']) | list != [] -%}
    select a._user_id, (select max(_change_id) from {{ this }} where _user_id = a._user_id) as mark
    from (select distinct _user_id from {{ accounts }}) as a
  {%- else -%}
    select _user_id, max(_change_id) as mark from {{ this }} group by _user_id
  {%- endif -%}
{%- endmacro %}

{#
  Whether the variable research_mirror_compare asks for all rows; on the command line it may be a string. It has its
  default here once more, since models of other packages see only their own package's variables.
#}
{% macro takes_all_rows() -%}
  {{ return(var('research_mirror_compare', false) | string | lower == 'true') }}
{%- endmacro %}
