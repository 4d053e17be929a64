{#
  The SELECT of a staging model: the columns that the mirrored table has now, in an order that people and BI tools like.
  First `_key`, then what the service says, then what the mirror knows about the row. `_raw` stays in the mirror.
#}
{% macro staging(collection) -%}
  {%- set columns = research_mirror.live_columns(collection) -%}
  select
    {{ research_mirror.projection(collection, 'mirrored', columns) }}
  from {{ source('research_mirror', collection) }} as mirrored
  {% if execute and is_incremental() and research_mirror.lacks_a_column(columns) -%}
    {#- A column may have been filled in rows that count as unchanged (docs/tables.md, "Columns for fields"). -#}
    where true
  {%- else -%}
    {{ research_mirror.changed_since_watermark('mirrored', source('research_mirror', collection)) }}
  {%- endif -%}
{%- endmacro %}

{# `_key`, for items also the `_key` of their list, and `columns` of the alias `rows`. #}
{% macro projection(collection, rows, columns) -%}
  {{ research_mirror.joined_key(rows, research_mirror.key_columns(collection)) }} as _key
  {%- if collection == 'list_items' %},
    {{ research_mirror.joined_key(rows, ['_user_id', 'list_id']) }} as _list_key
  {%- endif -%}
  {%- for column in columns %},
    {{ rows }}.{{ adapter.quote(column) }}
  {%- endfor -%}
{%- endmacro %}

{#
  Names of the mirrored table's columns as they are now: those of the service's fields, then the mirror's own, without
  the ones that hold the item once more. While dbt only parses, it asks no database: the list is empty then.
#}
{% macro live_columns(collection) -%}
  {%- if not execute -%}
    {{ return([]) }}
  {%- endif -%}
  {%- set relation = source('research_mirror', collection) -%}
  {%- set fields = [] -%}
  {%- set own = [] -%}
  {%- for column in adapter.get_columns_in_relation(relation) if column.name not in ['_raw', '_verbatim', '_hash'] -%}
    {%- do (own if column.name.startswith('_') else fields).append(column.name) -%}
  {%- endfor -%}
  {%- if fields + own == [] -%}
    {%- do exceptions.raise_compiler_error(
      'research_mirror: this login sees no table ' ~ relation ~ '. Is the variable research_mirror_schema the mirror\'s'
      ~ ' MIRROR_SCHEMA, and was "grant mirror_reader to <login>" run?'
    ) -%}
  {%- endif -%}
  {{ return(fields + own) }}
{%- endmacro %}

{# Whether one of `columns` is not in the model's table yet. #}
{% macro lacks_a_column(columns) -%}
  {%- set present = adapter.get_columns_in_relation(this) | map(attribute='name') | list -%}
  {{ return(columns | reject('in', present) | list != []) }}
{%- endmacro %}
