{#
  Joins and filters of an incremental model: rows of the source that changed since the model took them, one watermark
  per account. IDs rise in commit order within an account, not over several: one max(_change_id) over all of them loses
  the changes of whoever is behind. Exact, no clock involved.

  `rows` is the source's alias in the model's FROM, which this follows: it ends with a WHERE, to which you may add AND …
  The model keeps the columns _user_id and _change_id as they are. On a full refresh, and with the variable
  research_mirror_compare, all rows count as changed.
#}
{% macro changed_since_watermark(rows) -%}
  {%- if is_incremental() and not research_mirror.takes_all_rows() -%}
    left join (
      select _user_id, max(_change_id) as mark from {{ this }} group by _user_id
    ) as seen on seen._user_id = {{ rows }}._user_id
    where {{ rows }}._change_id > coalesce(seen.mark, 0)
  {%- else -%}
    where true
  {%- endif -%}
{%- endmacro %}

{#
  Whether the variable research_mirror_compare asks for all rows; on the command line it may be a string. It has its
  default here once more, since models of other packages see only their own package's variables.
#}
{% macro takes_all_rows() -%}
  {{ return(var('research_mirror_compare', false) | string | lower == 'true') }}
{%- endmacro %}
