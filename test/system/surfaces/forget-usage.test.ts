import { describe, expect, it } from 'vitest';
import { mirrorCommands } from '../../support/mirror/mirror-commands.ts';

const mirror = mirrorCommands();

describe('forget', () => {
  mirror.wrongUsage('forget', [
    ['nothing', [], 'forget needs a table and keys'],
    ['no table', ['research_job', '1'], 'unknown table "research_job" (did you mean research_jobs?)'],
    ['an account', ['account', '1'], 'accounts retire USER_ID --remove-data'],
    ['no rows', ['research_jobs'], 'needs at least one key'],
    ['a key that is none', ['research_jobs', 'x'], '"x" is not a key'],
    ['an item without its list', ['list_items', '7'], 'the list and the item, as in 7:abc'],
    ['--yes beside --undo', ['research_jobs', '1', '--undo', '--yes'], 'has no option --yes'],
    ['a user that is no number', ['research_jobs', '1', '--user', 'me'], '"me" is not a user_id'],
    ['no --yes where nobody can be asked', ['research_jobs', '1'], 'Add --yes'],
  ]);

  it('ends with 1 where the account or the row is not here, and records nothing', async () => {
    expect(await mirror.run('forget', 'research_jobs', '1', '--user', '5', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no account 5') as string,
    });
    for (const option of ['--yes', '--dry-run']) {
      expect(await mirror.run('forget', 'research_jobs', '987654321', option)).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('not found; nothing is recorded') as string,
      });
    }
  });
});
