import { expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createHeartbeat } from '../../../../src/db/ownership/heartbeat.ts';
import { ownIdentity } from '../../../../src/db/ownership/process-identity.ts';
import { installed } from '../../../support/databases/installed.ts';

const scene = installed();

it('a heartbeat tells when its process was asleep, or missed the database', async () => {
  let sleptMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + sleptMs };
  const beats = { count: 0 };
  const heartbeat = createHeartbeat({
    db: scene.database.db,
    processId: 'self',
    identity: await ownIdentity(),
    clock,
    log: { info: () => {}, warn: () => {} },
    command: 'start',
    version: '0.0.0',
    durations: { beatEvery: 100, validFor: 60_000, trustedFor: 50_000 },
    afterBeat: async () => void (beats.count += 1),
  });
  const beaten = async (): Promise<unknown> => {
    const before = beats.count;
    return eventually('two heartbeats', () => beats.count >= before + 2);
  };
  await heartbeat.start();
  await beaten();
  expect(heartbeat.interruptedAt()).toBe(Number.NEGATIVE_INFINITY);

  sleptMs = 100_000;
  const woken = clock.monotonic();
  expect(heartbeat.interruptedAt()).toBeGreaterThanOrEqual(woken);
  await beaten();
  const asleep = heartbeat.interruptedAt();
  expect(asleep).toBeGreaterThanOrEqual(woken);
  await beaten();
  expect(heartbeat.interruptedAt()).toBe(asleep);

  await scene.run('alter table mirror_sync.process rename to away');
  await eventually('a failure', () => heartbeat.interruptedAt() > asleep);
  await scene.run('alter table mirror_sync.away rename to process');
  const back = clock.monotonic();
  await beaten();
  expect(heartbeat.interruptedAt()).toBeGreaterThanOrEqual(back);
  await heartbeat.stop();
});
