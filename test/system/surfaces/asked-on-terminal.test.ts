import { spawn } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { MirroredAccount } from '../../support/mirror/mirrored-account.ts';
import { mirrorCommands } from '../../support/mirror/mirror-commands.ts';
import { LAUNCHER } from '../../support/processes/program.ts';

const mirror = mirrorCommands();
let account: MirroredAccount;

beforeAll(async () => {
  account = await MirroredAccount.make(mirror.database, '43');
  await account.page('research_jobs', '[{"job_id":1,"score":1.50},{"job_id":2}]');
});

interface Asked {
  readonly code: number | null;
  readonly shown: string;
}

/** Runs a command on a terminal (util-linux's `script` makes one), and types an answer once it asks. */
function onTerminal(command: string, answer: string): Promise<Asked> {
  const line = `'${process.execPath}' '${LAUNCHER}' ${command}`;
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    cwd: mirror.cwd,
    env: { PATH: process.env['PATH'], HOME: mirror.cwd, TERM: 'xterm', DATABASE_URL: mirror.database.url },
  });
  let shown = '';
  let answered = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
    if (answered || !shown.includes('Type "')) return;
    answered = true;
    child.stdin.write(`${answer}\n`);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, shown }));
  });
}

const typeOfScore = () =>
  account.query(`select distinct pg_typeof(score)::text as type from mirror.research_jobs_live`);

describe('a person at a terminal', () => {
  it('is told what a type would lose, and asked: the column stays, or gets it', async () => {
    const text = 'columns set-type research_jobs.score text';
    const no = await onTerminal(text, 'no');
    expect(no.code).toBe(1);
    expect(no.shown).toMatch(
      /the column would lose 1 value that it has now.*research_jobs 1 of account 43: 1\.50.*Type "text".*score is unchanged/s,
    );
    expect(await typeOfScore()).toEqual([{ type: 'numeric' }]);
    const yes = await onTerminal(text, 'text');
    expect(yes.code).toBe(0);
    expect(yes.shown).toContain('research_jobs.score is now text');
    expect(await typeOfScore()).toEqual([{ type: 'text' }]);
  });

  it('is asked before a row is forgotten', async () => {
    const forget = 'forget research_jobs 2 --user 43';
    expect(await onTerminal(forget, 'no')).toMatchObject({ code: 1 });
    expect(await account.query('select job_id from mirror.research_jobs order by 1')).toHaveLength(2);
    expect(await onTerminal(forget, 'forget')).toMatchObject({ code: 0 });
    expect(await account.query('select job_id from mirror.research_jobs')).toEqual([{ job_id: '1' }]);
  });
});
