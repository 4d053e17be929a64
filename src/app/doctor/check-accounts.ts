import { otherOwner, otherService } from '../../db/accounts/account-identity.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { Secret } from '../../config/secret.ts';
import { affectedBy, type ProblemCause } from '../../model/status/problem.ts';
import { leftAlone, nothingThere } from '../../webhooks/registration/remedies.ts';
import { readWebhook } from '../../webhooks/registration/read-webhook.ts';
import { hostOf, sameUrl } from '../../webhooks/registration/same-url.ts';
import { hashOfKey } from '../accounts/servable-keys.ts';
import { statusReport } from '../status/collect-status.ts';
import type { Workload } from '../status/workload.ts';
import { broken, type Check, type CheckFinding, type Findings, ok, unknown, warning } from './check.ts';
import { keyPlaces } from './check-service.ts';
import type { Context, Ping } from './context.ts';

/** They rest on what the service and the database have told. */
export const ACCOUNT_CHECKS: readonly Check<Context>[] = [
  { name: 'accounts', after: ['base_url', 'objects'], run: identity },
  { name: 'failing', after: ['base_url', 'writable', 'objects'], run: failing },
  { name: 'registration', after: ['base_url'], run: registration },
];

/** Whether keys and service are still those that each account was mirrored with. */
async function identity(context: Context): Promise<Findings> {
  const [db, pings] = [await context.mirror(), await context.pings()];
  const owners = ownersOf(pings);
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
  const served = new Set([...before.values(), ...owners.keys()]);
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

/** Each account once, in the order of its first key, with that key. */
function ownersOf(pings: readonly Ping[]): ReadonlyMap<string, Secret> {
  const owners = new Map<string, Secret>();
  for (const { owner, key } of pings) if (owner !== undefined && !owners.has(owner)) owners.set(owner, key);
  return owners;
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

/** What is registered at the service: a request for each account, where a public URL is set. */
async function registration(context: Context): Promise<readonly CheckFinding[]> {
  const { publicUrl, takeover } = context.config.webhook;
  if (publicUrl === undefined) return [];
  // Beside a daemon that runs, deliveries are missing until it looks again.
  const [state, soon] = (await context.daemonLives())
    ? ([warning, 'the daemon sees to it within 15 minutes, or when it starts again'] as const)
    : ([ok, 'the next start sees to it'] as const);
  const judge = async (owner: string, key: Secret): Promise<CheckFinding> => {
    const seen = await context.read(key, '/v1/webhooks', readWebhook, [200, 204, 404]);
    const wanted = `${publicUrl}/webhooks/${owner}`;
    if (seen === 'none' || seen.active === false)
      return takeover === 'never' ? warning(nothingThere()) : state(`none is registered; ${soon}`);
    if (sameUrl(seen.url, wanted)) return ok(`at ${hostOf(wanted)}`);
    if (takeover === 'always' || hostOf(seen.url) === hostOf(wanted))
      return state(`it leads to ${hostOf(seen.url)}, and is replaced; ${soon}`);
    return warning(leftAlone(seen, takeover), {
      remedy: 'where ours is to replace it, with the next start',
      command: 'export MIRROR_WEBHOOK_TAKEOVER=always',
    });
  };
  const findings: CheckFinding[] = [];
  for (const [owner, key] of ownersOf(await context.pings())) {
    const finding = await judge(owner, key).catch((error: unknown) => unknown(messageOf(error)));
    findings.push({ ...finding, found: `account ${owner}: ${finding.found}` });
  }
  return findings;
}
