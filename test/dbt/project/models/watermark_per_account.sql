-- An analyst's own model, as dbt/README.md has it.
{{ config(materialized='incremental', unique_key=['_user_id', 'job_id']) }}
select jobs._user_id, jobs.job_id, jobs._change_id, jobs.status
from {{ source('research_mirror', 'research_jobs') }} as jobs
{{ research_mirror.changed_since_watermark('jobs', source('research_mirror', 'research_jobs')) }}
