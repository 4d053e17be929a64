import { otherOwner, otherService } from '../../db/accounts/account-identity.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';
import { affectedBy, type ProblemCause } from '../../model/status/problem.ts';
import { hashOfKey } from '../accounts/servable-keys.ts';
import { statusReport } from '../status/collect-status.ts';
import type { Workload } from '../status/workload.ts';
import { broken, type Check, type CheckFinding, type Findings, ok, warning } from './check.ts';
import { keyPlaces } from './check-service.ts';
import type { Context } from './context.ts';

/** They rest on what the service and the database have told. */
export const ACCOUNT_CHECKS: readonly Check<Context>[] = [
  { name: 'accounts', after: ['base_url', 'objects'], run: identity },
  { name: 'failing', after: ['base_url', 'writable', 'objects'], run: failing },
];

/** Whether keys and service are still those that each account was mirrored with. */
async function identity(context: Context): Promise<Findings> {
  const [db, pings] = [await context.mirror(), await context.pings()];
  const owners = new Set(pings.flatMap(({ owner }) => owner ?? []));
  if (db === undefined || owners.size === 0) return [];
  const findings: CheckFinding[] = [];
  const known = await knownKeys(
    db,
    pings.map(({ key }) => hashOfKey(key)),
  );
  const before = new Map(known.map(({ keyHash, userId }) => [keyHash, userId]));
  for (const ping of pings) {
    const [hash, owner] = [hashOfKey(ping.key), ping.owner];
    const userId = before.get(hash);
    if (owner !== undefined && userId !== undefined && userId !== owner)
      findings.push(move(userId, `${keyPlaces([ping], pings.length)}: ${otherOwner(userId, hash, owner)}`));
  }
  const url = context.config.service.url;
  const { rows: accounts } = await db.sql<{ userId: string; origin: string | null; retired: boolean }>`
    select _user_id::text as "userId", origin, state = 'retired' as retired
    from ${db.stateTable('account')} order by _user_id`;
  const served = new Set([...before.values(), ...owners]);
  for (const { userId, origin, retired } of accounts) {
    if (owners.has(userId) && origin !== null && origin !== url)
      findings.push(move(userId, otherService(userId, origin, url)));
    if (served.has(userId) || retired) continue;
    findings.push(
      warning(`account ${userId} is mirrored, and MIRROR_API_KEY has no key of it`, {
        remedy: `put its key there; where another daemon has it, that is fine; where it is to be mirrored no more, "research-mirror accounts retire ${userId}"`,
      }),
    );
  }
  return findings.length > 0 ? findings : [ok('keys and service are those of the mirrored accounts')];
}

function move(userId: string, why: string): CheckFinding {
  return broken(why, {
    remedy: 'where it is right, with the daemon stopped',
    command: `research-mirror accounts move ${userId}`,
  });
}

/** Causes of problems that only reading or writing a collection meets, and no other check. */
const MET_BY_READING: ReadonlySet<ProblemCause> = new Set([
  'database_unready',
  'database_refuses',
  'service_down',
  'account_stopped',
  'collection_failing',
  'deletions_refused',
  'rows_stale',
]);

/** No problem rests on it. */
const NO_WORKLOAD: Workload = { databaseBytes: 0, backlogs: new Map(), credits: new Map(), notes: [] };

/** What `status` says of the collections that can't be read or written. */
async function failing({ config, mirror }: Context): Promise<Findings> {
  const db = await mirror();
  if (db === undefined) return [];
  const workload = (): Promise<Workload> => Promise.resolve(NO_WORKLOAD);
  const sources = { config, db, words: '', accounts: undefined, workload };
  const { problems } = await statusReport(sources);
  const met = problems.filter(({ cause }) => MET_BY_READING.has(cause));
  if (met.length === 0) return ok('no collection failed when it was read last');
  return met.map((problem) => {
    const { what, byItself, remedy } = problem;
    const isOurs = remedy?.includes('research-mirror doctor') === true;
    return broken(`${affectedBy(problem)}: ${what}`, {
      remedy: isOurs
        ? `mend what "keys", "endpoints" and "foreign_objects" say, where they are not ok; ${byItself}`
        : remedy,
    });
  });
}
