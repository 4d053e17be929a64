-- Indexes for the search of the status page: what no other index finds.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

-- Deleted rows by their domain: the indexes that serve companies have live ones only.
create index research_jobs_deleted_domain on "{schema}".research_jobs (_user_id, _domain)
  where _deleted_at is not null and _domain is not null;
create index list_items_deleted_domain on "{schema}".list_items (_user_id, _domain)
  where _deleted_at is not null and _domain is not null;
create index watchlist_deleted_domain on "{schema}".watchlist (_user_id, _domain)
  where _deleted_at is not null and _domain is not null;

-- Submissions by the rows that their answers name, at the top or one level down (src/model/hint.ts). Of this kind an
-- index takes any answer: it has hashes of the values, however long they are. Without a pending list, which each look
-- would read to its end. The expression is also in src/mirror/lookup/row-submissions.ts.
create index submissions_answer on "{schema}".submissions using gin ((
    jsonb_path_query_array(response, '$.**{0 to 1}."job_id"')
    || jsonb_path_query_array(response, '$.**{0 to 1}."bulk_job_id"')
    || jsonb_path_query_array(response, '$.**{0 to 1}."list_id"')
  ) jsonb_path_ops) with (fastupdate = off) where response is not null;
create index submissions_target on "{schema}".submissions (_user_id, target_id) where target_id is not null;
