import { otherOwner, otherService } from '../../db/accounts/account-identity.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';
import { refusalIn } from '../../db/connection/sql-state.ts';
import { messageOf } from '@research-mirror/runtime/message';
import type { Secret } from '../../config/secret.ts';
import { PROBLEMS, refusedDeletionRemedy } from '../../model/status/problem.ts';
import { leftAlone, nothingThere } from '../../webhooks/registration/remedies.ts';
import { readWebhook } from '../../webhooks/registration/read-webhook.ts';
import { hostOf, sameUrl } from '../../webhooks/registration/same-url.ts';
import { hashOfKey } from '../accounts/servable-keys.ts';
import { broken, type Check, type CheckFinding, ok, unknown, warning } from './check.ts';
import { keyPlaces } from './check-service.ts';
import type { Context, Ping } from './context.ts';

/** They rest on what the service and the database have told. */
export const ACCOUNT_CHECKS: readonly Check<Context>[] = [
  { name: 'accounts', after: ['base_url', 'objects'], run: identity },
  { name: 'failing', after: ['base_url', 'writable', 'objects'], run: failing },
  { name: 'registration', after: ['base_url'], run: registration },
];

/** Whether keys and service are still those that each account was mirrored with. */
async function identity(context: Context): Promise<readonly CheckFinding[]> {
  const [db, pings] = [await context.mirror(), await context.pings()];
  const owners = ownersOf(pings);
  if (db === undefined || owners.size === 0) return [];
  const hashes = pings.map(({ key }) => hashOfKey(key));
  const known = new Map((await knownKeys(db, hashes)).map(({ keyHash, userId }) => [keyHash, userId]));
  const moves = pings.flatMap((ping) => {
    const [hash, owner] = [hashOfKey(ping.key), ping.owner];
    const before = known.get(hash);
    if (owner === undefined || before === undefined || before === owner) return [];
    return move(before, `${keyPlaces([ping], pings.length)}: ${otherOwner(before, hash, owner)}`);
  });
  const url = context.config.service.url;
  const { rows: accounts } = await db.sql<{ userId: string; origin: string | null; retired: boolean }>`
    select _user_id::text as "userId", origin, state = 'retired' as retired
    from ${db.stateTable('account')} order by _user_id`;
  const stayed = new Set([...known.values(), ...owners.keys()]);
  for (const { userId, origin, retired } of accounts) {
    if (owners.has(userId) && origin !== null && origin !== url)
      moves.push(move(userId, otherService(userId, origin, url)));
    if (stayed.has(userId) || retired) continue;
    moves.push(
      warning(`account ${userId} is mirrored, and MIRROR_API_KEY has no key of it`, {
        remedy: `put its key there; where another daemon has it, that is fine; where it is to be mirrored no more, "research-mirror accounts retire ${userId}"`,
      }),
    );
  }
  return moves.length > 0 ? moves : [ok('keys and service are those of the mirrored accounts')];
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

/** The last error of each collection that is failing, and rows that Postgres refuses, with what `status` says to do. */
async function failing({ mirror }: Context): Promise<readonly CheckFinding[]> {
  const db = await mirror();
  if (db === undefined) return [];
  const { rows } = await db.sql<{ found: string; error: string; refusedIn: string | null }>`
    select string_agg(format('%s/%s', _user_id, collection), ', ' order by _user_id, collection) || ': ' || last_error as found,
      last_error as error, null as "refusedIn"
    from ${db.table('freshness')} where state = 'failing' group by last_error
    union all
    select format('%s/%s: Postgres refuses the newest version of %s row%s (mirror.stale_rows)', _user_id, collection, stale_rows,
      case when stale_rows > 1 then 's' end), '', ''
    from ${db.table('data_quality')} where stale_rows > 0
    union all
    select format('%s/%s: Postgres refuses to delete %s row%s: %s', _user_id, collection, count(*),
      case when count(*) > 1 then 's' end, min(refused)), '', collection
    from ${db.stateTable('candidate')} where refused is not null group by _user_id, collection
    order by "refusedIn" nulls first, found`;
  if (rows.length === 0) return [ok('no collection failed when it was read last')];
  return rows.map(({ found, error, refusedIn }) => {
    if (refusedIn !== null) {
      const remedy = refusedIn === '' ? PROBLEMS.rows_stale[1] : refusedDeletionRemedy(refusedIn);
      return broken(found, { remedy });
    }
    const refusal = refusalIn(error);
    const mend =
      refusal === undefined
        ? 'mend what "keys" and "endpoints" say, where they are not ok'
        : refusal.whole
          ? 'the database takes writes now'
          : 'take away what refuses it: what foreign_objects names, a constraint or a foreign key';
    return broken(found, { remedy: `${mend}; it is tried again, at the latest after 5 minutes` });
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
