import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPage } from '../../../../src/service/envelope.ts';
import type { AbsenceProof } from '../../../../src/model/absence.ts';
import { KnownPages } from '../../../../src/model/known-pages.ts';
import type { Page } from '../../../../src/model/page.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { runs } from '../../../support/effort.ts';
import { MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';

const database = testDatabase();
let users = 0;

const item = fc
  .record({
    key: fc.constantFrom('1', '2', '3', '4', '5', '"x"'),
    status: fc.constantFrom('"open"', '"failed"', '"completed"'),
    value: fc.constantFrom('1', '1.0', '"b\\u0000"', '1e200000'),
    seen: fc.constantFrom('1', '2'),
  })
  .map(
    ({ key, status, value, seen }) => `{"job_id":${key},"status":${status},"value":${value},"seen":${seen}}`,
  );

const proof = fc.constantFrom<AbsenceProof | undefined>(
  undefined,
  { kind: 'snapshot' },
  { kind: 'interval', direction: 'falling', after: null, through: '2' },
);

/** What happens to an account: pages, most of them more than once; time, other writers, deletions, other settings. */
const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ body: fc.nat({ max: 2 }), proof, sentAgo: fc.constantFrom(0, 90_000) }),
  },
  fc.record({ ms: fc.constantFrom(30_000, 120_000) }),
  fc.constant({ deletions: true }),
  fc.record({ ignored: fc.constantFrom<string[]>([], ['seen']) }),
  fc.record({
    anotherWriter: fc.constantFrom(
      `update mirror.research_jobs set _hash = '\\x00' where job_id = 1 and _user_id = $user`,
      'delete from mirror.research_jobs where job_id = 2 and _user_id = $user',
      'update mirror.research_jobs set _deleted_at = now() where job_id = 3 and _user_id = $user',
      'delete from mirror.quarantine where _user_id = $user',
    ),
  }),
);
type Event = typeof event extends fc.Arbitrary<infer E> ? E : never;

/** An account whose pages are read by `read`. */
class Account {
  readonly userId = String((users += 1));
  readonly #read: (text: string) => Page;
  #account: MirroredAccount | undefined;

  constructor(read: (text: string) => Page) {
    this.#read = read;
  }

  /** @returns the page's outcomes */
  async happen(event: Event, bodies: readonly string[]): Promise<unknown> {
    const account = (this.#account ??= await this.#made([]));
    if ('ms' in event) return account.age(event.ms);
    if ('deletions' in event) return account.applyDeletions('research_jobs', { accept: true });
    if ('ignored' in event) return void (this.#account = await this.#made(event.ignored));
    if ('anotherWriter' in event) return account.query(event.anotherWriter.replaceAll('$user', this.userId));
    const array = bodies[event.body] ?? '[]';
    const { items, hashes } = this.#read(`{"data":${array},"has_more":false}`);
    const page = { proof: event.proof, sentAgo: event.sentAgo, items, hashes };
    const result = await account.observe('research_jobs', array, page);
    if (result.state !== 'applied') return result;
    const { outcomes, counts, changed, decided } = result;
    return { outcomes, counts, suspectChange: decided.suspectChange, changed: changed?.changeId };
  }

  stored(): Promise<unknown> {
    const row = `to_jsonb(t) - '{_user_id,_first_seen_at,_changed_at,_deleted_at}'::text[], _deleted_at is null`;
    const tables = {
      'mirror.research_jobs': row,
      'mirror.research_jobs_history': 'job_id, _change_id, _op, _hash, _raw',
      'mirror_sync.candidate': 'key, kind, obs, proven_at is null',
      'mirror.quarantine': 'key, place, reason, item_hash, kept',
      'mirror_sync.unsettled': 'key, finished',
      'mirror_sync.scope': 'collection, last_obs, live_rows',
      'mirror._collections': 'live_rows, deleted_rows, held_deletions, waiting_deletions',
    };
    return Promise.all(
      Object.entries(tables).map(([table, columns]) =>
        this.#account?.rowsOf(`(${columns})::text`, `${table} as t`),
      ),
    );
  }

  #made(ignored: readonly string[]): Promise<MirroredAccount> {
    const ignoreFields = { ...noFields(), research_jobs: ignored };
    return MirroredAccount.make(database, this.userId, { ignoreFields });
  }
}

it('a page that is known by its text has the same effect as a page that is read, whatever happened in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.array(item, { maxLength: 5 }).map((items) => `[${items.join()}]`),
        { minLength: 3, maxLength: 3 },
      ),
      fc.array(event, { minLength: 4, maxLength: 12 }),
      async (bodies, events) => {
        const read = (text: string): Page => readPage(text, 'job_id', 'bigint');
        const known = new KnownPages();
        const long = new Account(read);
        const short = new Account((text) => known.read(text, 'job_id bigint', read));
        for (const each of events) {
          expect(await short.happen(each, bodies)).toEqual(await long.happen(each, bodies));
        }
        expect(await short.stored()).toEqual(await long.stored());
      },
    ),
    { numRuns: runs(10, 200) },
  );
});
