import type { Db } from '../../db/connection/db.ts';
import { type RawBuilder, sql } from 'kysely';
import { childrenOf, type Scope, scopeName } from '../../model/collections.ts';
import { ClassifiedError } from '@research-mirror/runtime/errors';
import { DatabaseWentBack } from '../../model/errors.ts';
import { laterOf } from './complete-as-of.ts';
import type { ScopeChange } from '../page-write.ts';
import { ofScope } from '../table.ts';

/** A later observation of the scope is committed already: this one must not be applied (invariant 4). */
export class Superseded extends ClassifiedError {
  readonly remedy = 'skip';
}

/** The place of a write among the scope's observations. */
export interface Place {
  /** Its own number; left out where it is not an observation. */
  readonly obs?: number;
  /** The last committed number, as this process read or committed it. */
  readonly after: number;
}

/**
 * Stores a scope's changes as the last step of a page. An unchanged page writes this row alone.
 * @param place compared and set; undefined for what rests on no observation
 * @param liveRows how many live rows the scope has gained
 * @param now by the database's clock
 * @throws Superseded, DatabaseWentBack
 */
export async function saveScope(
  trx: Db,
  scope: Scope,
  change: ScopeChange,
  place: Place | undefined,
  liveRows: number,
  now: Date,
): Promise<void> {
  const set = assignments(change, place?.obs, liveRows, now);
  if (set.length === 0) return;
  const isNext = place === undefined ? sql`true` : sql`t.last_obs = ${place.after}::bigint`;
  const { rows } = await trx.sql`
    update ${trx.stateTable('scope')} as t set ${sql.join(set)}
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)} and ${isNext}
    returning t.last_obs`;
  // What rests on no observation is no evidence: its scope may never have been opened.
  if (rows.length === 0 && place !== undefined) await throwUnlessAt(trx, scope, place.after);
}

/**
 * Compares the scope's last committed observation with the one that this process knows. An earlier one shows that the
 * database went back; a later one that another reader was faster, or that the scope's parent is deleted
 * (delete-list.ts). A scope without a row had one, since it was opened: what erases rows takes the account first
 * (forget-rows.ts).
 * @throws Superseded, DatabaseWentBack
 */
export async function throwUnlessAt(trx: Db, scope: Scope, after: number): Promise<void> {
  const { rows } = await trx.sql<{ last: string }>`
    select t.last_obs as last from ${trx.stateTable('scope')} as t
    where t._user_id = ${scope.userId}::bigint and ${ofScope('t', scope)}`;
  const last = Number(rows[0]?.last ?? -1);
  if (last === after) return;
  const which = `${scopeName(scope)}: observation ${after} was committed last`;
  if (last < after) throw new DatabaseWentBack(`${which}, and is not there any more`, 'commits');
  throw new Superseded(`${which} by this process, and ${last} is there by now`);
}

function assignments(
  change: ScopeChange,
  obs: number | undefined,
  liveRows: number,
  now: Date,
): RawBuilder<unknown>[] {
  const set: RawBuilder<unknown>[] = [];
  const assign = (column: string, value: RawBuilder<unknown>): void => {
    set.push(sql`${sql.id(column)} = ${value}`);
  };
  if (change.memory !== undefined) assign('memory', json(change.memory));
  if (change.clearDueUntil !== undefined) {
    const until = sql`${change.clearDueUntil}::timestamptz`;
    // What became due again while it was read is due from then on.
    assign(
      'due_at',
      sql`case when t.last_due_at > ${until} then t.last_due_at when t.due_at <= ${until} then null else t.due_at end`,
    );
  }
  const moments = { last_read_at: change.lastReadAt, polled_at: change.polledAt, full_at: change.fullAt };
  for (const [column, moment] of Object.entries(moments)) {
    if (moment !== undefined) assign(column, sql`${moment}::timestamptz`);
  }
  if (change.completeAsOf !== undefined) {
    assign('complete_as_of', laterOf(sql`t.complete_as_of`, sql`${change.completeAsOf}::timestamptz`, now));
  }
  if (liveRows !== 0) assign('live_rows', sql`t.live_rows + ${liveRows}::bigint`);
  if (change.failure === null) {
    assign('last_error', sql`null`);
    assign('failures', sql`0`);
  } else if (change.failure !== undefined) {
    assign('last_error', sql`${change.failure.message}`);
    assign('last_error_at', sql`${change.failure.at}::timestamptz`);
    assign('failures', sql`t.failures + 1`);
  }
  if (change.fullWalk !== undefined) assign('full_walk', json(change.fullWalk));
  if (obs !== undefined) assign('last_obs', sql`${obs}::bigint`);
  return set;
}

/** JSON as text first: a driver that encodes strings as JSON would write a JSON string. */
function json(value: unknown): RawBuilder<unknown> {
  return value === null ? sql`null` : sql`${JSON.stringify(value)}::text::jsonb`;
}

/** Makes the scopes of new and changed rows (a list's items) due now; those of undeleted rows are scopes again. */
export async function markChildrenDue(
  trx: Db,
  scope: Scope,
  keys: readonly string[],
  at: Date,
): Promise<void> {
  for (const child of childrenOf(scope.collection)) {
    await trx.sql`
      insert into ${trx.stateTable('scope')} as t (_user_id, collection, parent, due_at, last_due_at)
      select a._user_id, ${child.name}, x.key, ${at}::timestamptz, ${at}::timestamptz
      from ${trx.stateTable('account')} as a cross join unnest(${[...keys]}::text[]) as x (key)
      where a._user_id = ${scope.userId}::bigint
      on conflict (_user_id, collection, parent) do update
      set due_at = least(t.due_at, excluded.due_at), last_due_at = excluded.last_due_at, gone_at = excluded.gone_at`;
  }
}
