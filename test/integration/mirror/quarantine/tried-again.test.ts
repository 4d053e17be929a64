import { afterEach, describe, expect, it } from 'vitest';
import { readPage } from '../../../../src/service/envelope.ts';
import type { ItemOutcome } from '../../../../src/mirror/page-record.ts';
import { KnownPages, type Page } from '../../../../src/model/page.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount } from '../../../support/mirror/mirrored-account.ts';

// Quarantined items are retried though their page comes byte for byte as before; pages without such an item stay known
// by their text: they are neither parsed nor written.

const database = testDatabase();
let users = 0;
// The table of one test would refuse rows of the next one.
afterEach(() => database.db.raw('delete from mirror.bulk_research_jobs'));

const FIRST = '[{"bulk_job_id":9,"divisor":1},{"bulk_job_id":8,"divisor":2}]';
const SECOND = '[{"bulk_job_id":7,"divisor":3},{"bulk_job_id":6,"divisor":0}]';
const THIRD = '[{"bulk_job_id":5,"divisor":4}]';

/** An account whose three pages are read repeatedly, as a process reads them. */
class Walked {
  readonly account: MirroredAccount;
  readonly #known = new KnownPages();
  /** Bodies that were parsed since the last walk began. */
  #parsed: string[] = [];

  private constructor(account: MirroredAccount) {
    this.account = account;
  }

  static async make(): Promise<Walked> {
    users += 1;
    return new Walked(await MirroredAccount.make(database, String(users)));
  }

  /** @returns the outcome of each item, and the parsed bodies */
  async walk(pages = [FIRST, SECOND, THIRD]) {
    this.#parsed = [];
    const outcomes: (readonly ItemOutcome[])[] = [];
    for (const array of pages) {
      const { items, hashes } = this.#read(array);
      const result = await this.account.page('bulk_research_jobs', array, { items, hashes });
      if (result.state === 'applied') outcomes.push(result.outcomes);
    }
    return { outcomes, parsed: this.#parsed };
  }

  #read(array: string): Page {
    return this.#known.read(`{"data":${array},"has_more":false}`, 'bulk_job_id bigint', (text) => {
      this.#parsed.push(array);
      return readPage(text, 'bulk_job_id', 'bigint');
    });
  }

  /** Physical place of each row: another one after each write. */
  rows(): Promise<unknown[]> {
    return this.account.query(
      `select bulk_job_id, xmin::text, ctid::text from mirror.bulk_research_jobs
       where _user_id = ${this.account.fence.userId} and bulk_job_id <> 6 order by 1`,
    );
  }
}

const UNCHANGED = ['unchanged', 'unchanged'];

describe('a walk', () => {
  it.each([
    ['a constraint', 'add constraint theirs check (divisor > 0)', 'drop constraint theirs'],
    // Division by zero looks like an error of the item's own.
    [
      'what looks like its own text',
      'add column part numeric generated always as (1 / divisor) stored',
      'drop column part',
    ],
  ])('retries items that were refused by %s, and skips the other pages', async (_, refuse, relent) => {
    const walked = await Walked.make();
    await walked.walk([FIRST]);
    await walked.account.query(`alter table mirror.bulk_research_jobs ${refuse}`);
    expect(await walked.walk()).toMatchObject({
      outcomes: [UNCHANGED, ['inserted', 'quarantined'], ['inserted']],
    });
    const before = await walked.rows();
    const refused = [UNCHANGED, ['unchanged', 'quarantined'], ['unchanged']];
    // Only still refused items are retried: the other pages are not parsed.
    expect(await walked.walk()).toEqual({ outcomes: refused, parsed: [SECOND] });

    await walked.account.query(`alter table mirror.bulk_research_jobs ${relent}`);
    expect(await walked.walk()).toEqual({
      outcomes: [UNCHANGED, ['unchanged', 'inserted'], ['unchanged']],
      parsed: [SECOND],
    });
    expect(await walked.walk()).toEqual({
      outcomes: [UNCHANGED, UNCHANGED, ['unchanged']],
      parsed: [],
    });
    expect(await walked.rows()).toEqual(before);
    expect(
      await walked.account.query(
        `select from mirror.quarantine where _user_id = ${walked.account.fence.userId}`,
      ),
    ).toHaveLength(0);
  });

  it('reads a page with a keyless item each time', async () => {
    const walked = await Walked.make();
    const keyless = '[{"bulk_job_id":7},{"note":"no ID"}]';
    for (const parsed of [[FIRST, keyless], [keyless], [keyless]]) {
      expect(await walked.walk([FIRST, keyless])).toMatchObject({ parsed });
    }
  });
});
