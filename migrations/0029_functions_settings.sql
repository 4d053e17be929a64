-- Functions read their SQL as it was written, whatever the caller's login, database or server has set: with
-- standard_conforming_strings = off, submit() took '\S' for 'S', and refused every target without one.
-- oldest program: 0.2.0
-- {schema} is replaced by MIRROR_SCHEMA, always inside double quotes. One transaction (src/db/migrations/run-migrations.ts).

alter function "{schema}"._as_of(text, timestamptz)
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
alter function "{schema}"._covered_as_of(text, timestamptz)
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
alter function "{schema}".cancel_submission(bigint)
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
alter function "{schema}".submit(text, jsonb, text, bigint, text)
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
alter function "{schema}_sync".make_as_of()
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
alter function "{schema}_sync".make_changes()
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
alter function "{schema}_sync".make_companies()
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
alter function "{schema}_sync".readable_gate()
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
alter function "{schema}_sync".view_options(text)
  set standard_conforming_strings = on set array_nulls = on set transform_null_equals = off set quote_all_identifiers = off;
