import { sql } from 'kysely';
import type { Db } from '../connection/db.ts';
import type { SuspectKind } from '../../model/absence.ts';
import type { CollectionName } from '../../model/collections.ts';

/** Suspected deletions of one collection that are alike. */
export interface MissedRows {
  readonly userId: string;
  readonly collection: CollectionName;
  /** What they lack, or have: `proven` where the second proof has come; `refused` where Postgres does not delete them. */
  readonly kind: SuspectKind | 'proven' | 'refused';
  /** Why Postgres refuses one of them; null: it does not. */
  readonly why: string | null;
  /** An item without a usable ID stands in their list. */
  readonly keyless: boolean;
  /** A full walk of their list is under way, or was interrupted. */
  readonly walking: boolean;
  readonly rows: number;
  /** When the first and the last of them were missed. */
  readonly since: Date;
  readonly latest: Date;
  /** Keys as in the view `changes`. */
  readonly examples: readonly string[];
}

/** Keys that are shown of each group. */
const EXAMPLES = 5;

/** All suspected deletions in groups. Costs one look at each: 200,000 at most come of one observation. */
export async function readMissedRows(db: Db): Promise<MissedRows[]> {
  const suspects = db.stateTable('candidate');
  const kind = sql`case when c.proven_at is null then c.kind when c.refused_at is null then 'proven' else 'refused' end`;
  const { rows } = await db.sql<MissedRows>`
    select g._user_id as "userId", g.collection, g.kind, g.keyless, g.walking, g.rows, g.since, g.latest, g.why, array(
        select case when c.parent = '' then c.key else c.parent || ':' || c.key end
        from ${suspects} as c
        where c._user_id = g._user_id and c.collection = g.collection and c.parent = any(g.parents)
          and ${kind} = g.kind
        limit ${EXAMPLES}) as examples
    from (
      select s._user_id, s.collection, s.kind, s.keyless, s.walking, sum(s.rows)::float8 as rows,
        min(s.since) as since, max(s.latest) as latest, min(s.why) as why, (array_agg(s.parent order by s.parent))[1:${EXAMPLES}::int] as parents
      from (
        select p.*,
          exists (
            select 1 from ${db.table('quarantine')} as q
            where q._user_id = p._user_id and q.collection = p.collection and q.parent = p.parent and q.key is null
          ) as keyless,
          exists (
            select 1 from ${db.stateTable('scope')} as s
            where s._user_id = p._user_id and s.collection = p.collection and s.parent = p.parent
              and s.full_walk is not null) as walking
        from (
          select c._user_id, c.collection, c.parent, ${kind} as kind, count(*) as rows, min(c.at) as since,
            max(c.at) as latest, min(c.refused) as why
          from ${suspects} as c
          group by c._user_id, c.collection, c.parent, ${kind}) as p) as s
      group by s._user_id, s.collection, s.kind, s.keyless, s.walking) as g
    order by g._user_id, g.collection, g.kind, g.keyless, g.walking`;
  return rows;
}
