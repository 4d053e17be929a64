import { quote, serviceMessage } from '../../api/service-message.ts';
import { createTransport } from '../../api/transport.ts';
import type { ServiceConfig } from '../../config/config.ts';
import { originOf, otherOwner, otherService } from '../../db/accounts/account-identity.ts';
import { knownKeys } from '../../db/accounts/api-keys.ts';
import type { Db } from '../../db/connection/db.ts';
import { messageOf } from '@research-mirror/runtime/message';
import { leftAlone, nothingThere } from '../../webhooks/registration/remedies.ts';
import { hostOf, sameUrl } from '../../webhooks/registration/same-url.ts';
import { askWhatIsRegistered } from '../../webhooks/registration/service-calls.ts';
import { hashOfKey } from '../accounts/servable-keys.ts';
import { programVersion } from '../program-files.ts';
import { isOfDatabase } from '../status/problems.ts';
import type { Pinged } from './ask-service.ts';
import type { ServiceSurroundings } from './check-service.ts';
import type { Report } from './check.ts';

/** Whether keys and service are still those that each account was mirrored with. */
export async function checkIdentity(
  db: Db,
  config: ServiceConfig,
  pings: readonly Pinged[],
  report: Report,
): Promise<void> {
  const stored = new Map(
    (
      await knownKeys(
        db,
        pings.map(({ key }) => hashOfKey(key)),
      )
    ).map(({ keyHash, userId }) => [keyHash, userId]),
  );
  let good = true;
  const move = (userId: string, why: string): void => {
    good = false;
    report('accounts', 'broken', why, {
      remedy: 'where it is right, with the daemon stopped',
      command: `research-mirror accounts move ${userId}`,
    });
  };
  for (const { key, owner, place } of pings) {
    const before = stored.get(hashOfKey(key));
    if (owner === undefined || before === undefined || before === owner) continue;
    move(before, `${place}: ${otherOwner(before, hashOfKey(key), owner)}`);
  }
  for (const owner of ownersOf(pings)) {
    const origin = await originOf(db, owner);
    if (origin !== null && origin !== config.service.url)
      move(owner, otherService(owner, origin, config.service.url));
  }
  for (const userId of await withoutKey(db, new Set([...stored.values(), ...ownersOf(pings)]))) {
    good = false;
    report('accounts', 'warning', `account ${userId} is mirrored, and MIRROR_API_KEY has no key of it`, {
      remedy: `put its key there; where another daemon has it, that is fine; where it is to be mirrored no more, "research-mirror accounts retire ${userId}"`,
    });
  }
  if (good) report('accounts', 'ok', 'keys and service are those of the mirrored accounts');
}

/** Accounts that no configured key is of, as far as keys are known. */
async function withoutKey(db: Db, owners: ReadonlySet<string | undefined>): Promise<string[]> {
  const { rows } = await db.sql<{ userId: string }>`
    select _user_id::text as "userId" from ${db.stateTable('account')} where state <> 'retired' order by _user_id`;
  return rows.map(({ userId }) => userId).filter((userId) => !owners.has(userId));
}

/**
 * The last error of each collection that is failing, as `status` has it, and rows that Postgres refuses.
 * @param writable false: another check says why the database takes no writes, and failures by that are left out
 */
export async function checkFailing(db: Db, writable: boolean, report: Report): Promise<void> {
  const { rows } = await db.sql<{ what: string; places: string | null; refused: boolean }>`
    select last_error as what, string_agg(format('%s/%s', _user_id, collection), ', ' order by _user_id, collection) as places,
      false as refused
    from ${db.table('freshness')} where state = 'failing' group by last_error
    union all
    select format('%s/%s: Postgres refuses the newest version of %s rows (mirror.stale_rows)', _user_id, collection, stale_rows), null, true
    from ${db.table('data_quality')} where stale_rows > 0
    union all
    select format('%s/%s: Postgres refuses to delete %s rows: %s', _user_id, collection, count(*), min(refused)), null, true
    from ${db.stateTable('candidate')} where refused is not null group by _user_id, collection
    order by refused, what`;
  const remedy =
    'take away what refuses them (a constraint, a foreign key, a trigger); then "research-mirror sync --full"';
  const told = rows.filter(({ what, refused }) => refused || writable || !isOfDatabase(what));
  for (const { what, places, refused } of told)
    report('failing', 'broken', places === null ? what : `${places}: ${what}`, refused ? { remedy } : {});
  if (told.length > 0) return;
  const by = writable ? 'when it was read last' : 'by anything but the database';
  report('failing', 'ok', `no collection failed ${by}`);
}

/** As far as the mirror knows them: the service is not asked. */
export async function checkCredits(
  db: Db,
  config: ServiceConfig,
  pings: readonly Pinged[],
  report: Report,
): Promise<void> {
  const floor = config.submit.creditsFloor ?? '0';
  for (const owner of ownersOf(pings)) {
    const { rows } = await db.sql<{ credits: string | null; few: boolean | null }>`
      select credits::text as credits, credits <= 0 or credits < ${floor}::numeric as few from ${db.table('account')}
      where _user_id = ${owner}::bigint and _deleted_at is null`;
    const { credits = null, few = null } = rows[0] ?? {};
    const found = `account ${owner} has ${credits ?? 'an unknown number of'} credits, as far as mirrored`;
    if (few === true) {
      report(
        'credits',
        'warning',
        `${found}: submissions ${floor === '0' ? 'may be rejected' : `wait (MIRROR_CREDITS_FLOOR=${floor})`}`,
        {
          remedy: 'top them up at the service, or lower MIRROR_CREDITS_FLOOR',
        },
      );
    } else report('credits', 'ok', found);
  }
}

/** What is registered at the service: a request for each account, where a public URL is set. */
export async function checkRegistration(
  config: ServiceConfig & { readonly webhook: { readonly publicUrl: string } },
  pings: readonly Pinged[],
  { clock, scrub }: ServiceSurroundings,
  daemonLives: boolean,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const { webhook, service, proxy } = config;
  const transport = createTransport({
    baseUrl: service.url,
    clock,
    userAgent: `research-mirror/${programVersion()}`,
    proxy,
  });
  try {
    for (const owner of ownersOf(pings)) {
      const key = pings.find((ping) => ping.owner === owner)?.key.reveal() ?? '';
      const seen = await askWhatIsRegistered(
        {
          ask: ({ path }) => transport.get(path, key, signal, 'item'),
          // It has just been answered.
          keyIsGood: () => Promise.resolve(true),
          said: (text) => quote(serviceMessage(text), scrub),
        },
        signal,
      ).catch((error: unknown) => {
        signal.throwIfAborted();
        report('registration', 'unknown', `account ${owner}: ${messageOf(error)}`);
        return undefined;
      });
      if (seen === undefined) continue;
      const wanted = `${webhook.publicUrl}/webhooks/${owner}`;
      const soon = daemonLives ? 'the daemon sees to it within 15 minutes' : 'the next start sees to it';
      const active = seen !== 'none' && seen.active !== false;
      if (active && sameUrl(seen.url, wanted))
        report('registration', 'ok', `account ${owner}: at ${hostOf(wanted)}`);
      else if (!active && webhook.takeover === 'never') {
        report('registration', 'warning', `account ${owner}: ${nothingThere()}`);
      } else if (!active) {
        report(
          'registration',
          daemonLives ? 'warning' : 'ok',
          `account ${owner}: none is registered; ${soon}`,
        );
      } else if (webhook.takeover === 'always' || hostOf(seen.url) === hostOf(wanted)) {
        report(
          'registration',
          'ok',
          `account ${owner}: it leads to ${hostOf(seen.url)}, and is replaced: ${soon}`,
        );
      } else {
        report('registration', 'warning', `account ${owner}: ${leftAlone(seen, webhook.takeover)}`, {
          command: 'export MIRROR_WEBHOOK_TAKEOVER=always',
        });
      }
    }
  } finally {
    await transport.close();
  }
}

/** Each account once, in the order of its first key. */
export function ownersOf(pings: readonly Pinged[]): readonly string[] {
  return [...new Set(pings.flatMap(({ owner }) => owner ?? []))];
}
