{#
  For a post-hook: removes the model's rows that the source has no more. With MIRROR_DELETES=soft there are none, since
  deleted rows stay, with _deleted_at; with `hard`, and after `accounts retire --remove-data`, no row is left to say
  that it went. Keys are compared with keys, so that it is exact also where MIRROR_HISTORY=off keeps no trace.

  `rows` is the source, `key` the columns that make up its key, under the same names in the model.
#}
{% macro remove_vanished(rows, key) -%}
  {%- set same -%}
    {%- for column in key -%}
      there.{{ adapter.quote(column) }} = taken.{{ adapter.quote(column) }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
  {%- endset -%}
  delete from {{ this }} as taken
  where not exists (select from {{ rows }} as there where {{ same }})
{%- endmacro %}
