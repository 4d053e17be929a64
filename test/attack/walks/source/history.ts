import type pg from 'pg';
import { messageOf } from '@research-mirror/runtime/message';
import type { Finding } from '../../support/attack.ts';
import { compareRows, keysOf, KEYS, liveRows, type ListName, rowMap, type StoredRow } from '../checks/mirrored.ts';

/** The account's live rows as they were read at a moment, by collection. */
export interface Snapshot {
  /** By the database's clock, microseconds and all. */
  readonly at: string;
  readonly rows: ReadonlyMap<ListName, ReadonlyMap<string, string>>;
}

/** Reads what the mirror holds now. Nothing may be writing for the account meanwhile. */
export async function takeSnapshot(db: pg.Pool, names: readonly ListName[], user: string): Promise<Snapshot> {
  const { rows } = await db.query<{ at: string }>('select clock_timestamp()::text as at');
  const live = new Map<ListName, ReadonlyMap<string, string>>();
  for (const name of names) live.set(name, await liveRows(db, name, user));
  return { at: rows[0]?.at ?? '', rows: live };
}

/** Whether `<table>_as_of(t)` gives back every state that was read. */
export async function checkReplay(
  db: pg.Pool,
  names: readonly ListName[],
  user: string,
  snapshots: readonly Snapshot[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of names) {
    for (const { at, rows } of snapshots) {
      const asOf = `select ${keysOf(name)}, _raw::text as raw from mirror.${name}_as_of($1::timestamptz)
        where _user_id = $2`;
      const wrong = await db.query<StoredRow>(asOf, [at, user]).then(
        (then) => compareRows(rows.get(name) ?? new Map(), rowMap(then.rows)),
        (error: unknown) => [messageOf(error)],
      );
      for (const text of wrong.slice(0, 3)) findings.push({ kind: 'history', text: `${name} as of ${at}: ${text}` });
    }
  }
  return findings;
}

/**
 * Versions of the account's rows, archived and current: each once, one after another, none equal to the one that it
 * superseded, and each with a watermark of its own. One that ended with its row's deletion was not superseded: where
 * the clock went back meanwhile, the row comes again at the very moment of its deletion.
 */
export async function checkVersions(db: pg.Pool, names: readonly ListName[], user: string) {
  const findings: Finding[] = [];
  let versions = 0;
  for (const name of names) {
    const key = name === 'list_items' ? 'list_id, id' : KEYS[name];
    const { rows } = await db.query<{ list: string; id: string; wrong: string; count: number }>(
      `with v as (
         select ${key}, _change_id, _hash, _valid_from, _valid_to, _op from mirror.${name}_history where _user_id = $1
         union all
         select ${key}, _change_id, _hash, _changed_at, 'infinity', null from mirror.${name}
         where _user_id = $1 and _deleted_at is null),
       w as (
         select *, lead(_valid_from) over k as next_from, lead(_hash) over k as next_hash,
           count(*) over (partition by _change_id) as sharers
         from v window k as (partition by ${key} order by _valid_from, _valid_to, _change_id))
       select ${keysOf(name)}, case
           when _valid_to < _valid_from then 'ends before it begins'
           when next_from < _valid_to then 'overlaps the next one'
           when next_from = _valid_to and next_hash = _hash and _op is distinct from 'delete' then 'is followed by its equal'
           when sharers > 1 then 'shares its _change_id' end as wrong,
         (select count(*) from v)::int as count
       from w order by 3 nulls last limit 4`,
      [user],
    );
    versions += rows[0]?.count ?? 0;
    for (const { list, id, wrong } of rows) {
      if (wrong !== null) findings.push({ kind: 'twice', text: `a version of ${name}/${list}/${id} ${wrong}` });
    }
  }
  return { findings, versions };
}
