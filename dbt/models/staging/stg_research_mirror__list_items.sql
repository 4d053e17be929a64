{{
  config(
    post_hook="{{ research_mirror.remove_vanished(source('research_mirror', 'list_items'), research_mirror.key_columns('list_items')) }}"
  )
}}
{{ research_mirror.staging('list_items') }}
