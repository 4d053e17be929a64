import { Db } from '../../../src/postgres/db.ts';
import { describe, expect, it } from 'vitest';
import { createBudgetStore, createFirstPingStore } from '../../../src/service/budget-store.ts';
import { retireAccount } from '../../../src/operate/accounts.ts';
import { createSubmissionStore } from '../../../src/submissions/submission-store.ts';
import { inOwnDatabase, openTestDatabase } from '../../support/databases/migrated-database.ts';
import { jobs, SNAPSHOT } from '../../support/mirror/deleting.ts';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { EventAccount } from '../../support/webhooks/event-account.ts';
import { envelope } from '../../support/webhooks/signing.ts';
import { takeSubmissions } from '../../support/submissions/stored-submissions.ts';
import { ask } from '../../support/postgres/on-connection.ts';
import { OPERATOR } from '../../support/mirror/operator.ts';

type Act = (account: EventAccount, db: Db) => Promise<unknown>;

const BLOCK = { group: 'other', blockId: 1, size: 5, validForMs: 10_000 } as const;
const NOTHING = { keyHash: 'k', blocks: [], learnt: [] };
const NOT_TO_BE_ENDED = { close: () => Promise.resolve(), drop: () => Promise.resolve() };

/** A store, and the submission that it claimed. */
async function claimed({ fence }: EventAccount, db: Db) {
  const store = createSubmissionStore({ db, fence, collections: new Set() });
  const [{ id } = { id: '' }] = await store.queued(1);
  expect(await store.claim(id)).toBeDefined();
  return { store, id };
}

/** `synchronous_commit` of the transaction in which `act` writes `table`, if the role’s setting is `mode`. */
async function modeOf(mode: string, table: string, act: Act): Promise<unknown> {
  let seen: unknown;
  await inOwnDatabase(async ({ db, ...database }) => {
    await takeSubmissions({ db });
    const account = await EventAccount.make({ db, ...database });
    // Only a trigger sees the setting of another session's transaction.
    const { username, pathname } = new URL(database.url);
    await db.raw(`select other.submit('research', '{}'::jsonb);
      create table public.seen_mode (mode text);
      create function public.see_mode() returns trigger language plpgsql as $$ begin
        insert into public.seen_mode values (current_setting('synchronous_commit')); return new; end $$;
      create trigger see_mode before insert or update on ${table} for each row execute function public.see_mode();
      alter role ${username} in database ${pathname.slice(1)} set synchronous_commit = ${mode}`);
    const own = await openTestDatabase(database.url);
    try {
      await act(account, new Db(own.kysely, 'other'));
    } finally {
      await own.close();
    }
    const { rows } = await db.sql<{ mode: string }>`select mode from public.seen_mode`;
    seen = rows[0]?.mode;
  });
  return seen;
}

describe('on disk before it is answered, even if synchronous_commit is off,', () => {
  // Acts that others learn of, and the table that each writes.
  it.each<[string, string, Act]>([
    ['an event that is answered', 'other.events', (account, db) => account.store(envelope('evt_1'), db)],
    ['a claim before its submission is sent', 'other.submissions', claimed],
    [
      'what came of a submission',
      'other.submissions',
      async (account, db) => {
        const { store, id } = await claimed(account, db);
        await db.sql`truncate public.seen_mode`;
        await store.finish(id, { state: 'accepted', status: 201, body: '{}' });
      },
    ],
    [
      'the end of an account, whose submissions are cancelled',
      'other.submissions',
      ({ fence: { userId } }, db) => retireAccount(db, userId, { now: new Date(), by: OPERATOR, remove: false }),
    ],
    [
      'slots before requests are sent under them',
      'other_sync.slot_block',
      ({ fence }, db) => createBudgetStore(db, fence).reserve('k', BLOCK, NOTHING),
    ],
    [
      'the slot of a ping by a key whose owner nobody knows',
      'other_sync.first_ping',
      (_, db) => createFirstPingStore(db).reserve('k', { ...BLOCK, size: 1 }, NOTHING),
    ],
    [
      'a sighting that withdraws a suspicion',
      'other_sync.scope',
      async ({ fence: { userId } }, db) => {
        const database = {
          kysely: db.kysely,
          db,
          urgent: db,
          beside: () => db,
          url: '',
          ...NOT_TO_BE_ENDED,
        };
        const account = await MirroredAccount.make(database, userId, { gracePeriodMs: 0 });
        await account.observe('research_jobs', jobs(1, 2));
        await account.observe('research_jobs', jobs(1), { proof: SNAPSHOT });
        await account.query('truncate public.seen_mode');
        await account.observe('research_jobs', jobs(1, 2), { proof: SNAPSHOT });
      },
    ],
  ])('is %s', async (_, table, act) => {
    expect([await modeOf('off', table, act), await modeOf('local', table, act)]).toEqual(['on', 'local']);
  });

  it.each(['submit', 'cancel_submission'] as const)(
    'is what %s() says, while other transactions of the session stay as they are',
    (name) =>
      inOwnDatabase(async (database) => {
        await EventAccount.make(database);
        const submit = `select other.submit('research', '{}')`;
        const call =
          name === 'submit' ? submit : `select other.cancel_submission(max(submission_id)) from other.submissions`;
        const mode = `select current_setting('synchronous_commit') as mode`;
        const seen = (...statements: string[]) => ask(database.url, submit, ...statements, mode);
        const off = 'set synchronous_commit = off';
        expect(await seen(off, 'begin', call)).toEqual([{ mode: 'on' }]);
        expect(await seen(off, call)).toEqual([{ mode: 'off' }]);
        expect(await seen('set synchronous_commit = local', 'begin', call)).toEqual([{ mode: 'local' }]);
      }),
  );
});
