-- Built after its items, so that each of them finds its list. depends_on: {{ ref('stg_research_mirror__list_items') }}
{{
  config(
    post_hook="{{ research_mirror.remove_vanished(source('research_mirror', 'lists'), research_mirror.key_columns('lists')) }}"
  )
}}
{{ research_mirror.staging('lists') }}
