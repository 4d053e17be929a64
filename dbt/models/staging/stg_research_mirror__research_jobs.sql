{{
  config(
    post_hook="{{ research_mirror.remove_vanished(source('research_mirror', 'research_jobs'), research_mirror.key_columns('research_jobs')) }}"
  )
}}
{{ research_mirror.staging('research_jobs') }}
