import pg from 'pg';
import { ASKED, JOB_COLUMNS, jobPages } from './service-pages.ts';

/**
 * What a good engineer writes within an hour: a page is one statement, which Postgres makes rows of, with columns and the
 * raw item. `--guarded`: rows that are the same already are left alone. Deletions are not thought of.
 */
const guard = process.argv.includes('--guarded') ? 'where t.raw is distinct from excluded.raw' : '';
const columns = Object.keys(JOB_COLUMNS);
const typed = Object.entries(JOB_COLUMNS).map(([name, type]) => `"${name}" ${type}`);
const UPSERT = `
  insert into peer.jobs as t (${columns.map((name) => `"${name}"`).join(', ')}, raw)
  select row.*, item from jsonb_array_elements($1::jsonb -> 'data') item, jsonb_to_record(item) as row (${typed.join(', ')})
  on conflict (job_id) do update
  set ${columns
    .slice(1)
    .map((name) => `"${name}" = excluded."${name}"`)
    .join(', ')}, raw = excluded.raw
  ${guard}`;

const client = new pg.Client({ connectionString: ASKED.database });
await client.connect();
await client.query('create schema if not exists peer');
await client.query(`create table if not exists peer.jobs (${typed.join(', ')}, raw jsonb, primary key (job_id))`);
for await (const { text } of jobPages(await newest())) await client.query(UPSERT, [text]);
await client.end();

/** Up to which job the rows are known, where only newer ones are wanted. */
async function newest(): Promise<number> {
  if (!ASKED.onlyNew) return -1;
  const { rows } = await client.query<{ id: string }>('select max(job_id) as id from peer.jobs');
  return Number(rows[0]?.id ?? -1);
}
