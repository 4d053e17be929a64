import type { Db } from '../connection/db.ts';
import type { SuspectKind } from '../../model/absence.ts';
import type { CollectionName } from '../../model/collections.ts';

/** Suspected deletions of one collection that are alike (table `candidate`). */
export interface MissedRows {
  readonly userId: string;
  readonly collection: CollectionName;
  /** What they lack, or have: `proven` where the second proof has come. */
  readonly kind: SuspectKind | 'proven';
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
  const candidate = db.stateTable('candidate');
  const { rows } = await db.sql<MissedRows>`
    select g._user_id as "userId", g.collection, g.kind, g.keyless, g.walking,
      sum(g.rows)::float8 as rows, min(g.since) as since, max(g.latest) as latest,
      (array_agg(g.example order by g.parent) filter (where g.example is not null))[1:${EXAMPLES}::int] as examples
    from (
      select p._user_id, p.collection, p.kind, p.parent,
        exists (
          select from ${db.table('quarantine')} as q
          where q._user_id = p._user_id and q.collection = p.collection and q.parent = p.parent and q.key is null
        ) as keyless,
        exists (
          select from ${db.stateTable('scope')} as s
          where s._user_id = p._user_id and s.collection = p.collection and s.parent = p.parent
            and s.full_walk is not null) as walking,
        case when x.place = 1 then p.rows else 0 end as rows, p.since, p.latest,
        case when p.parent = '' then x.key else p.parent || ':' || x.key end as example
      from (
        select c._user_id, c.collection, c.parent,
          case when c.proven_at is null then c.kind else 'proven' end as kind,
          count(*) as rows, min(c.at) as since, max(c.at) as latest,
          (array_agg(c.key))[1:${EXAMPLES}::int] as keys
        from ${candidate} as c
        group by c._user_id, c.collection, c.parent, case when c.proven_at is null then c.kind else 'proven' end
      ) as p cross join lateral unnest(p.keys) with ordinality as x (key, place)
    ) as g
    group by g._user_id, g.collection, g.kind, g.keyless, g.walking
    order by g._user_id, g.collection, g.kind, g.keyless, g.walking`;
  return rows;
}
