import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPage } from '../../../../src/service/envelope.ts';
import type { MirrorOptions } from '../../../../src/mirror/mirror.ts';
import type { AbsenceProof } from '../../../../src/model/absence.ts';
import { KnownPages, type Page } from '../../../../src/model/page.ts';
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
  .map(({ key, status, value, seen }) => `{"job_id":${key},"status":${status},"value":${value},"seen":${seen}}`);

const proof = fc.constantFrom<AbsenceProof | undefined>(
  undefined,
  { kind: 'snapshot' },
  { kind: 'interval', direction: 'falling', after: null, through: '2' },
);

/** What happens to an account: pages, most of them more than once; time, other writers, deletions, other settings. */
const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      what: fc.constant('page' as const),
      body: fc.nat({ max: 2 }),
      proof,
      sentAgo: fc.constantFrom(0, 90_000),
    }),
  },
  fc.record({ what: fc.constant('age' as const), ms: fc.constantFrom(30_000, 120_000) }),
  fc.record({ what: fc.constant('deletions' as const) }),
  fc.record({ what: fc.constant('settings' as const), ignored: fc.constantFrom([], ['seen']) }),
  fc.record({
    what: fc.constant('another writer' as const),
    statement: fc.constantFrom(
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
    if (event.what === 'age') return account.age(event.ms);
    if (event.what === 'deletions') return account.applyDeletions('research_jobs', { accept: true });
    if (event.what === 'settings') {
      this.#account = await this.#made(event.ignored);
      return undefined;
    }
    if (event.what === 'another writer') {
      return account.query(event.statement.replaceAll('$user', this.userId)).then(() => undefined);
    }
    const array = bodies[event.body] ?? '[]';
    const { items, hashes } = this.#read(`{"data":${array},"has_more":false}`);
    const { proof: proves, sentAgo } = event;
    const more = proves === undefined ? {} : { proof: proves };
    const result = await account.observe('research_jobs', array, { ...more, items, hashes, sentAgo });
    if (result.state !== 'applied') return result;
    const { suspectChange } = result.decided;
    return {
      outcomes: result.outcomes,
      counts: result.counts,
      suspectChange,
      changed: result.changed?.changeId,
    };
  }

  async stored(): Promise<unknown> {
    const rows = async (columns: string, table: string): Promise<string[]> => {
      const found = await this.#account?.query<{ row: string }>(
        `select (${columns})::text as row from ${table} as t where _user_id = ${this.userId} order by 1`,
      );
      return (found ?? []).map(({ row }) => row);
    };
    return {
      rows: await rows(
        `to_jsonb(t) - '{_user_id,_first_seen_at,_changed_at,_deleted_at}'::text[], _deleted_at is null`,
        'mirror.research_jobs',
      ),
      history: await rows('job_id, _change_id, _op, _hash, _raw', 'mirror.research_jobs_history'),
      suspects: await rows('key, kind, obs, proven_at is null', 'mirror_sync.candidate'),
      quarantine: await rows('key, place, reason, item_hash, kept', 'mirror.quarantine'),
      unfinished: await rows('key, finished', 'mirror_sync.unsettled'),
      scope: await rows('collection, last_obs, live_rows', 'mirror_sync.scope'),
      counters: await rows('live_rows, deleted_rows, held_deletions, waiting_deletions', 'mirror._collections'),
    };
  }

  #made(ignored: readonly string[]): Promise<MirroredAccount> {
    const options: Partial<MirrorOptions> = {
      ignoreFields: { ...noFields(), research_jobs: ignored },
    };
    return MirroredAccount.make(database, this.userId, options);
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
