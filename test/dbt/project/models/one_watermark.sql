-- The filter that dbt's own documentation shows. Over several accounts it loses rows: this model goes stale.
{{ config(materialized='incremental', unique_key=['_user_id', 'job_id']) }}
select _user_id, job_id, _change_id from {{ source('research_mirror', 'research_jobs') }}
{% if is_incremental() %}
where _change_id > (select max(_change_id) from {{ this }})
{% endif %}
