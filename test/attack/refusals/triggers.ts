import type pg from 'pg';
import type { Draw } from '../support/draw.ts';
import type { Finding } from '../support/attack.ts';
import { KEYS, type ListName } from '../walks/checks/mirrored.ts';
import type { Source } from '../walks/source/source.ts';

/** What Postgres refuses of an account's rows. */
export interface Refusals {
  /** How it says so. */
  readonly kind: RefusalKind;
  /** Percentage of the rows; their content decides which ones. */
  readonly percent: number;
}

/** What a trigger does with a row: SQL of its body. */
const KINDS = {
  'a constraint': `raise 'refused' using errcode = '23514'`,
  'a trigger that raises': `raise 'refused'`,
  'a code of its own': `raise 'refused' using errcode = 'ZZ999'`,
  'a table that is missing': 'perform from public.nowhere',
  'an internal error': `raise 'refused' using errcode = 'XX000'`,
  'no word': 'return null',
  'late, at COMMIT': `raise 'refused'`,
} as const;
type RefusalKind = keyof typeof KINDS;

/** With these a page may fail: while every row is refused, the reason may be the table. */
const PERHAPS_TABLES = new Set(['a table that is missing', 'an internal error']);

/** Not those of lists: of a list that is refused, the items are not read. */
const TABLES = ['research_jobs', 'bulk_research_jobs', 'list_items', 'watchlist'] as const;

export function drawRefusals(draw: Draw): Refusals {
  return {
    kind: draw.one(Object.keys(KINDS) as RefusalKind[]) ?? 'a constraint',
    percent: draw.one([3, 20, 60, 97]),
  };
}

/** Makes the triggers, once in a database; accounts without refusals have nothing refused. */
export async function makeRefusalTriggers(db: pg.Pool): Promise<void> {
  const cases = Object.entries(KINDS).map(([kind, act]) => `when '${kind}' then ${act};`);
  await db.query(`
    create table public.refusals (user_id bigint primary key, kind text not null, percent int not null);
    create function public.is_refused(raw jsonb, percent int) returns boolean language sql immutable
      return abs(hashtext(raw::text)::bigint) % 100 < percent;
    create function public.refuse() returns trigger language plpgsql as $$
      declare theirs public.refusals;
      begin
        select * into theirs from public.refusals where user_id = new._user_id;
        if not found or (theirs.kind like 'late%') <> (tg_when = 'AFTER') then return new; end if;
        if not public.is_refused(new._raw, theirs.percent) then return new; end if;
        case theirs.kind ${cases.join(' ')} end case;
        return new;
      end $$`);
  for (const table of TABLES) {
    await db.query(`
      create trigger refuse before insert or update on mirror.${table}
        for each row execute function public.refuse();
      create constraint trigger refuse_late after insert or update on mirror.${table}
        deferrable initially deferred for each row execute function public.refuse()`);
  }
}

export async function beginRefusals(db: pg.Pool, user: string, { kind, percent }: Refusals): Promise<void> {
  await db.query('insert into public.refusals values ($1, $2, $3)', [user, kind, percent]);
}

export async function endRefusals(db: pg.Pool, user: string): Promise<void> {
  await db.query('delete from public.refusals where user_id = $1', [user]);
}

/**
 * After a full reading, in quiet: each item of the source is mirrored as it is, or, where Postgres refuses it, in
 * quarantine; none is both or neither.
 * @param errors of the reading
 */
export async function checkRefusals(
  db: pg.Pool,
  source: Source,
  user: string,
  names: readonly ListName[],
  errors: readonly string[],
): Promise<{ readonly refused: number; readonly findings: readonly Finding[] }> {
  const query = 'select kind, percent from public.refusals where user_id = $1';
  const [{ kind, percent } = { kind: '', percent: 0 }] = (await db.query<Refusals>(query, [user])).rows;
  if (errors.length > 0 && PERHAPS_TABLES.has(kind)) return { refused: 0, findings: [] };
  const findings = errors.map<Finding>((error) => ({
    kind: 'claim',
    text: `while rows are refused: ${error}`,
  }));
  let refused = 0;
  for (const name of names) {
    if (name === 'lists') continue;
    const lists = name === 'list_items' ? await listIds(source, user) : [''];
    for (const list of lists) {
      const which = { collection: name, user: Number(user), ...(list === '' ? {} : { list }) };
      const truth = await source.control.truth(which);
      const { rows: items } = await db.query<Record<'refused' | 'same' | 'apart', boolean> & { key: string }>(
        `select t.raw ->> $4 as key, public.is_refused(t.raw, $5) as refused,
           exists (select from mirror.${name} as m where m._user_id = $2 and m._deleted_at is null
             and m.${KEYS[name]}::text = t.raw ->> $4 ${list === '' ? '' : 'and m.list_id = $3::bigint'}
             and m._raw = t.raw) as same,
           exists (select from mirror.quarantine as q where q._user_id = $2 and q.collection = '${name}'
             and q.parent = $3::text and q.key = t.raw ->> $4) as apart
         from unnest($1::text[]) as s (item) cross join lateral (select s.item::jsonb as raw) as t`,
        [truth, user, list, KEYS[name], percent],
      );
      refused += items.filter((item) => item.refused).length;
      for (const item of items.filter((one) => one.same === one.refused || one.apart !== one.refused)) {
        const { key, same, apart } = item;
        const text = `${name} ${list}/${key}: refused ${item.refused}, mirrored ${same}, in quarantine ${apart}`;
        findings.push({ kind: item.refused ? 'claim' : 'lost', text });
      }
    }
  }
  return { refused, findings: findings.slice(0, 10) };
}

async function listIds(source: Source, user: string): Promise<string[]> {
  const lists = await source.control.truth({ collection: 'lists', user: Number(user) });
  return lists.map((text) => /"list_id":\s*"?([^",}]+)/.exec(text)?.[1] ?? '');
}
