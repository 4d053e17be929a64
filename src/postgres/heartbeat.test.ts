import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { isDeadHere, ownIdentity, parseStat } from './heartbeat.ts';

it('parseStat reads a process’s state and start, whatever its name', () => {
  const after = `S 1 2 2 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 1`;
  expect(parseStat(`42 (a) R (b)) ${after}`)).toEqual({ state: 'S', startedTicks: '987654' });
});

it('isDeadHere is true only for a process that has certainly ended on this machine', async () => {
  const own = await ownIdentity();
  const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
  await once(child, 'exit');
  const gone = { ...own, pid: child.pid ?? 0 };
  const certain = own.machine !== '';
  expect(await isDeadHere(own, own)).toBe(false);
  expect(await isDeadHere(own, gone)).toBe(certain);
  // The ID is in use, but by a process that began at another time.
  expect(await isDeadHere(own, { ...own, startedTicks: '1' })).toBe(certain);
  expect(await isDeadHere(own, { ...gone, machine: 'another' })).toBe(false);
  expect(await isDeadHere({ ...own, machine: '' }, { ...gone, machine: '' })).toBe(false);
});
