import { expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { failingSystems } from '../../support/databases/failing-system.ts';
import type { System } from '../../support/processes/system.ts';

const open = failingSystems();

/** Of a submission: its state and the key that its request carries; undefined while the database does not answer. */
async function rowOf({ db }: System, id: string): Promise<{ state: string; key: string } | undefined> {
  const { rows } = await db.query<{ state: string; key: string }>(
    'select state, _request_id as key from mirror.submissions where submission_id = $1',
    [id],
  );
  return rows[0];
}

async function submit({ db }: System, payload: string): Promise<string> {
  const { rows } = await db.query<{ id: string }>(`select mirror.submit('research', $1) as id`, [payload]);
  return rows[0]?.id ?? '';
}

function reaches(system: System, id: string, ...states: readonly string[]): Promise<string> {
  return eventually(`submission ${id} to be ${states.join(' or ')}`, async () => {
    const row = await rowOf(system, id);
    return row !== undefined && states.includes(row.state) && row.key;
  });
}

it('is not sent a second time by a running daemon after a failover to a standby that lagged, and status says why', async () => {
  const { system, moving } = await open();
  const daemon = await system.daemon({ MIRROR_POLL_CRON: 'never', MIRROR_FULL_CRON: 'never' });
  await eventually('an account', async () => (await system.db.query('select from mirror.account')).rowCount);
  await moving.follow();
  for (const payload of ['{"n": 1}', '{"n": 2}'])
    await reaches(system, await submit(system, payload), 'accepted');
  // The daemon is stopped while the standby gets the third one as queued, and nothing after it.
  daemon.child.kill('SIGSTOP');
  const third = await submit(system, '{"n": 3}');
  await moving.cutStandby();
  daemon.child.kill('SIGCONT');
  const key = await reaches(system, third, 'accepted');
  await moving.failOver();

  await reaches(system, third, 'held', 'accepted', 'unknown');
  const sent = await system.sandbox.control.operations();
  expect(sent.filter(({ idempotencyKey }) => idempotencyKey === key)).toHaveLength(1);
  expect(sent).toHaveLength(3);
  expect(await rowOf(system, third)).toMatchObject({ state: 'held' });
  const status = await system.run(['status']);
  expect(status.code).toBe(1);
  expect(status.stdout).toMatch(/held/);

  // What is queued by somebody who knows the database as it is now goes on.
  await reaches(system, await submit(system, '{"n": 4}'), 'accepted');
  await daemon.stop();
});
