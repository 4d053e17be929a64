{{
  config(
    post_hook="{{ research_mirror.remove_vanished(source('research_mirror', 'account'), research_mirror.key_columns('account')) }}"
  )
}}
{{ research_mirror.staging('account') }}
