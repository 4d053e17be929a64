{{
  config(
    post_hook="{{ research_mirror.remove_vanished(source('research_mirror', 'bulk_research_jobs'), research_mirror.key_columns('bulk_research_jobs')) }}"
  )
}}
{{ research_mirror.staging('bulk_research_jobs') }}
