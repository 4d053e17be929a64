import { describe, expect, it } from 'vitest';
import { mirrorCommands } from '../support/mirror/mirror-commands.ts';

const mirror = mirrorCommands();
const { run, execute, wrongUsage } = mirror;

async function stateOf(id: string): Promise<string | undefined> {
  const text = `select state from mirror.submissions where submission_id = ${id}`;
  return (await execute<{ state: string }>(text))[0]?.state;
}

async function queue(state = 'queued', more = 'null, null, null, null'): Promise<string> {
  const [made] = await execute<{ id: string }>(`
    insert into mirror.submissions (_user_id, operation, payload, created_at, state, response_status, response, error, done_at)
    values (42, 'enrich', '{}', now(), '${state}', ${more}) returning submission_id::text as id`);
  return made?.id ?? '';
}

describe('submissions', () => {
  it('says that there are none', async () => {
    expect(await run('submissions')).toMatchObject({
      code: 0,
      stdout: 'there are no submissions\n',
      stderr: '',
    });
    expect((await run('submissions', 'list', '--json')).stdout).toBe('{"submissions":[],"more":false}\n');
  });

  it('lists the newest first, those of one state, and not more than asked for', async () => {
    const first = await queue();
    const second = await queue('rejected', `422, '{"job_id": 9007199254740993}', 'no such company', now()`);
    const { code, stdout } = await run('submissions');
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`\\n +${second} .*rejected +422 .*no such company\\n +${first} .*queued`));
    const one = await run('submissions', '--state', 'rejected', '--json');
    expect(one.stdout).toContain('"response":{"job_id": 9007199254740993}');
    expect(JSON.parse(one.stdout)).toMatchObject({
      submissions: [{ id: second, userId: '42', responseStatus: 422 }],
      more: false,
    });
    expect((await run('submissions', '--limit', '1')).stdout).toContain('--limit shows more');
  });

  it('prints what the service answered to one', async () => {
    const id = await queue('accepted', `201, '{"job_id": 9007199254740993}', null, now()`);
    const { code, stdout, stderr } = await run('submissions', 'list', '--show', id);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"job_id": 9007199254740993}\n' });
    expect(stderr).toBe(`submission ${id}: accepted (201)\n`);
    expect(await run('submissions', '--show', '999999')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no submission 999999') as string,
    });
  });

  it('cancels what was not sent; what was is told, and ends with 1', async () => {
    const queued = await queue();
    const sent = await queue('accepted', `200, '{}', null, now()`);
    const outcome = await run('submissions', 'cancel', queued, sent, '999999');
    expect(outcome).toMatchObject({ code: 1, stdout: `submission ${queued}: cancelled\n` });
    expect(outcome.stderr).toMatch(new RegExp(`submission ${sent} is accepted: .*\\n.*there is no submission 999999`));
    expect(await stateOf(queued)).toBe('cancelled');
    const again = await run('submissions', 'cancel', queued, '--json');
    expect(again.code).toBe(0);
    expect(JSON.parse(again.stdout)).toEqual({ cancelled: [queued], refused: [] });
  });

  it('releases what is held', async () => {
    expect((await run('submissions', 'release')).stdout).toBe('nothing is on hold\n');
    const held = await queue('held');
    await execute(
      `insert into mirror_sync.installation (created_at, held_at, held_why) values (now(), '2026-01-01', 'a copy')`,
    );
    expect((await run('status')).stdout).toMatch(/problem: 1 submission held: a copy.*submissions release/);
    const { code, stdout, stderr } = await run('submissions', 'release');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'released 1 submission (on hold since 2026-01-01T00:00:00.000Z: a copy)\n',
    });
    expect(stderr).toContain('no daemon runs. Start one within ten minutes');
    expect(await stateOf(held)).toBe('queued');
  });

  wrongUsage('submissions', [
    ['an action there is not', ['lsit'], `has no action "lsit" (did you mean list?)`],
    ['a state there is not', ['--state', 'quued'], '(did you mean queued?)'],
    ['an ID that is none', ['cancel', '12a'], '"12a" is not a submission ID'],
    ['nothing to cancel', ['cancel'], 'submissions cancel needs IDs'],
    ['options of another action', ['cancel', '1', '--state', 'queued'], 'cancel has no option --state'],
    ['IDs where there are none', ['release', '1'], 'submissions release takes no IDs'],
    ['a filter beside --show', ['--show', '1', '--limit', '2'], "--show can't be combined with --limit"],
    ['a limit that is none', ['--limit', '0'], '--limit: "0" must be a whole number from 1'],
  ]);
});
