{# The columns of a mirrored table's primary key, by the collection's name (docs/tables.md, "Mirrored tables"). #}
{% macro key_columns(collection) -%}
  {%- set keys = {
    'account': ['_user_id'],
    'research_jobs': ['_user_id', 'job_id'],
    'bulk_research_jobs': ['_user_id', 'bulk_job_id'],
    'lists': ['_user_id', 'list_id'],
    'list_items': ['_user_id', 'list_id', 'id'],
    'watchlist': ['_user_id', 'id'],
  } -%}
  {%- if collection not in keys -%}
    {%- do exceptions.raise_compiler_error(
      'research_mirror: there is no collection ' ~ collection ~ '; there are ' ~ keys | join(', ')
    ) -%}
  {%- endif -%}
  {{ return(keys[collection]) }}
{%- endmacro %}

{# These columns as one text, as the views `<table>_live` have it: `<user_id>:<id>`. #}
{% macro joined_key(rows, columns) -%}
  {%- for column in columns -%}
    {{ rows }}.{{ adapter.quote(column) }}::text{{ " || ':' || " if not loop.last }}
  {%- endfor -%}
{%- endmacro %}
