import { expect, it } from 'vitest';
import { Doorbell } from './doorbell.ts';

const forever = new AbortController().signal;

it('remembers rings as one while nobody waits', async () => {
  const bell = new Doorbell();
  bell.ring();
  bell.ring();
  await bell.heard(forever);
  expect(bell.rung).toBe(false);
});

it('releases its waiter when the signal aborts, and keeps a later ring', async () => {
  const bell = new Doorbell();
  const controller = new AbortController();
  const heard = bell.heard(controller.signal);
  controller.abort(new Error('enough'));
  await expect(heard).rejects.toThrow('enough');
  bell.ring();
  expect(bell.rung).toBe(true);
});
