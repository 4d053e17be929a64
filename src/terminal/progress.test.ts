import { Scrubber } from '@research-mirror/runtime/scrub';
import { VirtualClock } from '@research-mirror/runtime/testing/virtual-clock';
import { expect, it } from 'vitest';
import { Progress } from './progress.ts';

function makeProgress(terminal: { isTTY?: boolean; columns?: number } = {}) {
  let text = '';
  const clock = new VirtualClock();
  const sink = { ...terminal, write: (part: string) => (text += part) };
  const { signal } = new AbortController();
  const shell = { env: {}, out: sink, err: sink, signal, clock, scrubber: new Scrubber() };
  return { progress: new Progress(shell), clock, text: () => text };
}

it('Progress replaces its line on a terminal, cut to its width', async () => {
  const { progress, clock, text } = makeProgress({ isTTY: true, columns: 10 });
  for (const state of ['one', 'too soon', 'much too long for it']) progress.show(state);
  await clock.advance(100);
  progress.end();
  expect(text()).toBe('\r\u001b[Kone\r\u001b[Kmuch too…\n');
});

it('Progress writes a plain line every five seconds elsewhere, always with the newest state', async () => {
  const { progress, clock, text } = makeProgress();
  progress.show('one');
  await clock.advance(1_000);
  for (const state of ['two', 'three']) progress.show(state);
  await clock.advance(3_999);
  expect(text()).toBe('one\n');
  await clock.advance(1);
  expect(text()).toBe('one\nthree\n');
});

it('Progress shows the last state at its end, and nothing later', async () => {
  const { progress, clock, text } = makeProgress();
  for (const state of ['one', 'two']) progress.show(state);
  progress.end();
  progress.end();
  await clock.advance(10_000);
  expect(text()).toBe('one\ntwo\n');
});

it('Progress prints other lines above it', () => {
  const { progress, text } = makeProgress({ isTTY: true, columns: 80 });
  progress.say('first');
  progress.show('reading');
  progress.say('a message');
  expect(text()).toBe('first\n\r\u001b[Kreading\r\u001b[Ka message\nreading');
});
