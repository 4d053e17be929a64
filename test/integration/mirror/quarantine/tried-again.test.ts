import { afterEach, describe, expect, it } from 'vitest';
import { readPage } from '../../../../src/service/envelope.ts';
import { KnownPages } from '../../../../src/model/page.ts';
import { testDatabase } from '../../../support/databases/migrated-database.ts';
import { MirroredAccount, noFields } from '../../../support/mirror/mirrored-account.ts';

// Quarantined items are retried though their page comes byte for byte as before; pages without such an item stay known
// by their text: they are neither parsed nor written.

const database = testDatabase();
let users = 0;
// The table of one test would refuse rows of the next one.
afterEach(() => database.db.raw('delete from mirror.bulk_research_jobs'));

const FIRST = '[{"bulk_job_id":9,"divisor":1},{"bulk_job_id":8,"divisor":2}]';
const SECOND = '[{"bulk_job_id":7,"divisor":3},{"bulk_job_id":6,"divisor":0}]';
const THIRD = '[{"bulk_job_id":5,"divisor":4}]';

/** An account whose pages are read repeatedly, as a process reads them. */
async function newWalk() {
  const userId = String((users += 1));
  let account = await MirroredAccount.make(database, userId);
  /** The process goes on with another configuration. */
  const ignore = async (...fields: string[]): Promise<void> => {
    const ignoreFields = { ...noFields(), bulk_research_jobs: fields };
    account = await MirroredAccount.make(database, userId, { ignoreFields });
  };
  const known = new KnownPages();
  /** @returns the outcome of each item, and the bodies that were parsed */
  const walk = async (pages = [FIRST, SECOND, THIRD]) => {
    const parsed: string[] = [];
    const outcomes: unknown[] = [];
    for (const array of pages) {
      const read = known.read(`{"data":${array},"has_more":false}`, 'bulk_job_id bigint', (text) => {
        parsed.push(array);
        return readPage(text, 'bulk_job_id', 'bigint');
      });
      const { items, hashes } = read;
      const result = await account.page('bulk_research_jobs', array, { items, hashes });
      outcomes.push(result.state === 'applied' ? result.outcomes : result);
    }
    return { outcomes, parsed };
  };
  return { account, ignore, walk };
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
    const { account, walk } = await newWalk();
    const alter = (how: string) => account.query(`alter table mirror.bulk_research_jobs ${how}`);
    /** Physical place of each row: another one after each write. */
    const places = () =>
      account.rowsOf('bulk_job_id, xmin, ctid', 'mirror.bulk_research_jobs', 'and bulk_job_id <> 6 order by 1');
    await walk([FIRST]);
    await alter(refuse);
    expect(await walk()).toMatchObject({
      outcomes: [UNCHANGED, ['inserted', 'quarantined'], ['inserted']],
    });
    const before = await places();
    const refused = [UNCHANGED, ['unchanged', 'quarantined'], ['unchanged']];
    // Only still refused items are retried: the other pages are not parsed.
    expect(await walk()).toEqual({ outcomes: refused, parsed: [SECOND] });

    await alter(relent);
    const accepted = [UNCHANGED, ['unchanged', 'inserted'], ['unchanged']];
    expect(await walk()).toEqual({ outcomes: accepted, parsed: [SECOND] });
    expect(await walk()).toEqual({ outcomes: [UNCHANGED, UNCHANGED, ['unchanged']], parsed: [] });
    expect(await places()).toEqual(before);
    expect(await account.rowsOf('key', 'mirror.quarantine')).toEqual([]);
  });

  it('reads a page with a keyless item each time', async () => {
    const { walk } = await newWalk();
    const keyless = '[{"bulk_job_id":7},{"note":"no ID"}]';
    for (const parsed of [[FIRST, keyless], [keyless], [keyless]]) {
      expect(await walk([FIRST, keyless])).toMatchObject({ parsed });
    }
  });

  it('compares a page that is known by its text by the rules of hashing that hold now', async () => {
    const { ignore, walk } = await newWalk();
    const other = FIRST.replaceAll('"divisor":', '"divisor":1');
    await walk([FIRST]);
    await ignore('divisor');
    expect(await walk([FIRST, other])).toMatchObject({ outcomes: [UNCHANGED, UNCHANGED] });
    await ignore();
    expect(await walk([other])).toMatchObject({ outcomes: [['updated', 'updated']], parsed: [other] });
  });
});
