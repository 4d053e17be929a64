import type pg from 'pg';

/** Rows of research_jobs that somebody has tampered with in Postgres, by what was done to them. */
export interface Tampered {
  readonly removed: readonly string[];
  readonly added: readonly string[];
  readonly column: readonly string[];
  readonly raw: readonly string[];
  readonly hash: readonly string[];
  readonly deleted: readonly string[];
}

/**
 * Tampers with `each` rows of `mirror.research_jobs` in each way, spread over the table, as somebody with a database
 * client may: the mirror's own columns stay as they are.
 */
export async function tamper(client: pg.Pool | pg.Client, each: number): Promise<Tampered> {
  const { rows } = await client.query<{ id: string }>(
    `select job_id as id from (select job_id, row_number() over (order by job_id) - 1 as n,
       greatest(1, count(*) over () / $1::bigint) as apart from mirror.research_jobs) as j
     where n % apart = 0 order by job_id limit $1`,
    [each * 5],
  );
  const ids = rows.map(({ id }) => id);
  const every = (nth: number): string[] => ids.filter((_, index) => index % 5 === nth);
  const chosen = { removed: every(0), column: every(1), raw: every(2), hash: every(3), deleted: every(4) };
  const { rows: made } = await client.query<{ id: string }>(
    `insert into mirror.research_jobs
     select (jsonb_populate_record(j, jsonb_build_object('job_id', 900000000 + j.job_id))).*
     from mirror.research_jobs as j where job_id = any($1) returning job_id as id`,
    [chosen.column],
  );
  const change = (set: string, which: readonly string[]): Promise<unknown> =>
    client.query(`update mirror.research_jobs set ${set} where job_id = any($1)`, [which]);
  await client.query('delete from mirror.research_jobs where job_id = any($1)', [chosen.removed]);
  await change(`status = 'tampered'`, chosen.column);
  await change(`_raw = _raw || '{"status": "tampered"}'`, chosen.raw);
  await change(`_hash = sha256('tampered')`, chosen.hash);
  await change(`_deleted_at = now()`, chosen.deleted);
  return { ...chosen, added: made.map(({ id }) => id) };
}
