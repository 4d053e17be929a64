import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import type { Running } from '../../support/processes/program.ts';
import { createFrozenSystem, type System } from '../../support/processes/system.ts';

let system: System;
let ids: string[];

beforeEach(async () => {
  system = await createFrozenSystem({ jobs: 5_000 });
  await system.sync(['--full']);
  const truth = await system.sandbox.control.truth({ collection: 'research_jobs' });
  ids = truth.map((text) => String((JSON.parse(text) as { job_id: number }).job_id));
  await changeScores(0, 50);
  await system.sync(['--full', 'research_jobs']);
  // Each update of the table waits at the gate while a test holds it.
  await system.db.query(`create table public.gate (open boolean); insert into public.gate values (true);
    create function public.pass_gate() returns trigger language plpgsql as
      $$ begin perform 1 from public.gate for share; return null; end $$;
    create trigger gate before update on mirror.research_jobs for each statement execute function public.pass_gate()`);
});
afterEach(() => system.close());

async function rows<T>(query: string): Promise<T[]> {
  return (await system.db.query<T & object>(query)).rows;
}

/** Gives jobs another score: a word, or a number that had none like it. */
async function changeScores(from: number, count: number): Promise<void> {
  await system.sandbox.control.mutate(
    ...ids.slice(from, from + count).map((id, index) => ({
      op: 'update' as const,
      collection: 'research_jobs' as const,
      id,
      fields: { score: index % 2 === 0 ? `word ${from}` : from + 0.5 },
    })),
  );
}

/** Begins the command, and does something while it waits with its first batch. */
async function halfWay(type: string, happens: (command: Running) => Promise<unknown>): Promise<Running> {
  const gate = await system.db.connect();
  try {
    await gate.query('begin; select from public.gate for update');
    const command = system.begin(['columns', 'set-type', 'research_jobs.score', type, '--yes']);
    // Its own session: a daemon's page may wait at the gate, too.
    const waits = `select from pg_stat_activity where datname = current_database()
      and application_name = 'research-mirror columns' and wait_event_type = 'Lock'`;
    await eventually('the first batch', async () => (await rows(waits)).length === 1);
    await happens(command);
    return command;
  } finally {
    await gate.query('commit');
    gate.release();
  }
}

const secondColumns = () =>
  rows(`select attrelid::regclass from pg_attribute where attname ~ '^_set_type' and not attisdropped`);

/** Types of the column wherever readers see it. */
const types = () =>
  rows(`select distinct data_type as type from information_schema.columns
    where table_schema = 'mirror' and column_name = 'score' and table_name ~ '^research_jobs(_live|_versions|_history|)$'`);

const WRONG = `select key from (
    select job_id::text as key, score, _raw from mirror.research_jobs
    union all select job_id || ' in history', score, _raw from mirror.research_jobs_history) as x
  where score is distinct from nullif(_raw -> 'score', 'null')`;

describe('columns set-type', () => {
  it('killed half-way leaves the column as it was, and does it all when it is called again', async () => {
    const killed = await halfWay('jsonb', async ({ child, ended }) => {
      child.kill('SIGKILL');
      await ended;
    });
    expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
    expect(await secondColumns()).toHaveLength(2);
    expect(await types()).toEqual([{ type: 'numeric' }]);
    // What is left disturbs no page, and no reader sees it.
    await changeScores(100, 50);
    await system.sync(['--full', 'research_jobs']);
    expect(
      await rows(`select score from mirror.research_jobs
        where score is distinct from case jsonb_typeof(_raw -> 'score') when 'number' then (_raw ->> 'score')::numeric end`),
    ).toEqual([]);

    const again = await system.run(['columns', 'set-type', 'research_jobs.score', 'jsonb', '--yes']);
    expect(again).toMatchObject({ code: 0, stdout: 'research_jobs.score is jsonb now\n' });
    expect(await secondColumns()).toEqual([]);
    expect(await types()).toEqual([{ type: 'jsonb' }]);
    expect(await rows(WRONG)).toEqual([]);
    expect(await differences(system)).toEqual([]);
  });

  it('beside a running daemon has every row and version right, those that come meanwhile, too', async () => {
    const daemon = await system.daemon();
    const insert = { op: 'insert', collection: 'research_jobs', fields: { score: 'new' } } as const;
    const command = await halfWay('jsonb', async () => {
      await system.sandbox.control.mutate(insert, insert);
      await changeScores(4_000, 50);
    });
    const state = { ended: false };
    void command.ended.finally(() => {
      state.ended = true;
    });
    for (let turn = 1; !state.ended || turn < 3; turn += 1) {
      await changeScores(turn * 10, 20);
      await system.sandbox.control.mutate(insert);
      await system.sync(['--full', 'research_jobs']);
    }
    expect(await command.ended).toMatchObject({
      code: 0,
      stdout: 'research_jobs.score is jsonb now\n',
      stderr: expect.stringMatching(/^research_jobs\.score as jsonb: of 4,\d{3} values, /) as string,
    });
    expect(await secondColumns()).toEqual([]);
    expect(await types()).toEqual([{ type: 'jsonb' }]);
    expect(await rows(WRONG)).toEqual([]);
    const [{ n } = { n: 0 }] = await rows<{ n: number }>(
      `select count(*)::int as n from mirror.research_jobs_live where score = '"new"'`,
    );
    expect(n).toBeGreaterThan(3);
    expect(await differences(system)).toEqual([]);
    expect(await system.run(['verify'])).toMatchObject({ code: 0 });
    expect(await daemon.stop()).toMatchObject({ code: 0 });
    expect(daemon.output()).not.toMatch(/"level":"(?:error|fatal)"/);
  });

  it('says how many values the column would lose, and loses none where nobody said yes', async () => {
    const before = await rows('select job_id, score from mirror.research_jobs order by 1');
    const asked = await system.run(['columns', 'set-type', 'research_jobs.score', 'text']);
    expect(asked).toMatchObject({ code: 2, stdout: '' });
    const numbers = `select count(*)::int as n from (select score from mirror.research_jobs
      union all select score from mirror.research_jobs_history) as x where score is not null`;
    const [{ n } = { n: 0 }] = await rows<{ n: number }>(numbers);
    expect(n).toBeGreaterThan(4_000);
    expect(asked.stderr).toContain(
      `\n${n.toLocaleString('en-US')} values that the column has now would be lost from it, for example\n  research_jobs `,
    );
    expect(asked.stderr.match(/^ {2}research_jobs \d+ of account \d+: [\d.]+$/gm)).toHaveLength(5);
    expect(asked.stderr).toContain('nobody can be asked here: add --yes');
    expect(await rows('select job_id, score from mirror.research_jobs order by 1')).toEqual(before);
    expect(await secondColumns()).toEqual([]);
  });
});
