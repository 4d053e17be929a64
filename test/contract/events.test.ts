import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { mirrorCommands } from '../support/mirror/mirror-commands.ts';
import { createSystem } from '../support/processes/system.ts';

const mirror = mirrorCommands();
const { run, execute, wrongUsage } = mirror;

describe('events', () => {
  it('says that none was received', async () => {
    expect(await run('events')).toMatchObject({ code: 0, stdout: 'no event was received yet\n', stderr: '' });
    expect((await run('events', '--json')).stdout).toBe('{"events":[],"more":false}\n');
  });

  it('lists the newest first, those of one type, and not more than asked for', async () => {
    await execute(`
      insert into mirror.events (_user_id, id, type, data, received_at, _raw, _verbatim, _collection, _key) values
        (42, 'evt_1', 'research.completed', '{"job_id": 9007199254740993}', '2026-01-01T10:00:00Z', '{"id": "evt_1"}',
          '{"id":"evt_1", "x":"\\u0000"}', 'research_jobs', '9007199254740993'),
        (42, 'evt_2', 'list.failed', null, '2026-01-01T11:00:00Z', '{"id": "evt_2"}', null, null, null)`);
    const { code, stdout } = await run('events');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /evt_2 .*list\.failed +2026-01-01 11:00.*\nevt_1 .*research\.completed .*research_jobs 9007199254740993\n2 events;/,
    );
    const one = await run('events', 'list', '--type', 'research.completed', '--json');
    expect(one.stdout).toContain('"data":{"job_id": 9007199254740993}');
    expect(JSON.parse(one.stdout)).toMatchObject({
      events: [{ id: 'evt_1', userId: '42', collection: 'research_jobs' }],
      more: false,
    });
    expect((await run('events', '--type', 'no.such')).stdout).toBe('there is no event of type "no.such"\n');
    expect((await run('events', '--limit', '1')).stdout).toContain('--limit shows more');
  });

  it('prints one as it was delivered', async () => {
    expect(await run('events', '--show', 'evt_1')).toMatchObject({
      code: 0,
      stdout: '{"id":"evt_1", "x":"\\u0000"}\n',
    });
    expect(await run('events', '--show', 'evt_9')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no event "evt_9"') as string,
    });
  });

  it('takes events up again: what they name is due', async () => {
    const { code, stdout, stderr } = await run('events', 'replay', 'evt_1', 'evt_2');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '2 events replayed; 0 of 2 rows and lists read again\n',
    });
    expect(stderr).toContain('no daemon runs; the rest is read when one does');
    const { rows } = await sql<{ hint: string }>`
      select collection || '/' || key as hint from mirror_sync.hint order by 1`.execute(mirror.database.kysely);
    expect(rows.map(({ hint }) => hint)).toEqual(['lists/', 'research_jobs/9007199254740993']);
  });

  it('ends with 1 where an event is not there', async () => {
    const { code, stdout, stderr } = await run('events', 'replay', 'evt_9', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({ replayed: [], missing: ['evt_9'], rows: 0, read: 0, daemon: false });
    expect(stderr).toContain('there is no event "evt_9"');
  });

  wrongUsage('events', [
    ['an action there is not', ['reply', 'evt_1'], `has no action "reply" (did you mean replay?)`],
    ['nothing to replay', ['replay'], 'events replay needs IDs'],
    ['options of another action', ['replay', 'evt_1', '--type', 'x'], 'events replay has no option --type'],
    ['a filter beside --show', ['--show', 'evt_1', '--type', 'x'], "--show can't be combined with --type"],
    ['IDs where there are none', ['list', 'evt_1'], 'events list takes no IDs'],
  ]);
});

describe('events replay beside a running daemon', () => {
  it('waits until the daemon has read what the events name', async () => {
    const system = await createSystem({ jobs: 20, lists: 2, itemsPerList: 1 });
    try {
      const daemon = await system.daemon();
      await system.db.query(
        `insert into mirror.events (_user_id, id, type, data, received_at, _raw)
         values ($1, 'evt_1', 'watchlist.change_detected', null, now(), '{}')`,
        [system.sandbox.userId],
      );
      const { code, stdout } = await system.run(['events', 'replay', 'evt_1', '--json']);
      const replayed = { replayed: ['evt_1'], missing: [], rows: 1, read: 1, daemon: true };
      expect([code, JSON.parse(stdout)]).toEqual([0, replayed]);
      expect(await daemon.stop()).toMatchObject({ code: 0 });
    } finally {
      await system.close();
    }
  });
});
