import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { SuspectChange } from '../../model/absence.ts';
import type { Scope } from '../../model/collections.ts';
import { candidateInScope } from './suspects.ts';
import { saveSuspects } from './save-suspects.ts';
import { throwUnlessAt } from '../scope/scope-row.ts';

/**
 * Changes a scope's rows in doubt by what is no page. Of a scope that is gone nothing is in doubt.
 * @param obs number of the last observation that is committed, and that it rests on
 * @throws Superseded when a later one is committed, which may have seen the rows; DatabaseWentBack
 */
export async function recordSuspects(
  trx: Db,
  scope: Scope,
  change: SuspectChange,
  obs: number,
  at: Date,
): Promise<void> {
  const { rows } = await sql<{ last_obs: string; gone: boolean; has_suspects: boolean }>`
    select s.last_obs, s.gone_at is not null as gone,
      exists (select from ${trx.stateTable('candidate')} as c where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)}) as has_suspects
    from ${trx.stateTable('scope')} as s
    where s._user_id = ${scope.userId}::bigint and s.collection = ${scope.collection} and s.parent = ${scope.parent}`.execute(
    trx,
  );
  const [row] = rows;
  if (row?.gone === true) return;
  if (Number(row?.last_obs) !== obs) await throwUnlessAt(trx, scope, obs);
  await saveSuspects(trx, scope, { change, obs, at, hasSuspects: row?.has_suspects === true });
}
