import type { Db } from '../../db/connection/db.ts';
import { sql } from 'kysely';
import type { DoubtChange } from '../../model/absence.ts';
import type { Scope } from '../../model/collections.ts';
import { candidateInScope } from './candidates.ts';
import { saveDoubts } from './save-doubts.ts';
import { throwUnlessAt } from '../scope/scope-row.ts';

/**
 * Changes a scope's rows in doubt by what is no page. Of a scope that is gone nothing is in doubt.
 * @param obs number of the last observation that is committed, and that it rests on
 * @throws Superseded when a later one is committed, which may have seen the rows; DatabaseWentBack
 */
export async function recordDoubts(
  trx: Db,
  scope: Scope,
  change: DoubtChange,
  obs: number,
  at: Date,
): Promise<void> {
  const { rows } = await sql<{ last_obs: string; gone: boolean; in_doubt: boolean }>`
    select s.last_obs, s.gone_at is not null as gone,
      exists (select from ${trx.stateTable('candidate')} as c where c._user_id = ${scope.userId}::bigint and ${candidateInScope(scope)}) as in_doubt
    from ${trx.stateTable('scope')} as s
    where s._user_id = ${scope.userId}::bigint and s.collection = ${scope.collection} and s.parent = ${scope.parent}`.execute(
    trx,
  );
  const [row] = rows;
  if (row?.gone === true) return;
  if (Number(row?.last_obs) !== obs) await throwUnlessAt(trx, scope, obs);
  await saveDoubts(trx, scope, { change, obs, at, inDoubt: row?.in_doubt === true });
}
