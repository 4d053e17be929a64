{{
  config(
    post_hook="{{ research_mirror.remove_vanished(source('research_mirror', 'watchlist'), research_mirror.key_columns('watchlist')) }}"
  )
}}
{{ research_mirror.staging('watchlist') }}
