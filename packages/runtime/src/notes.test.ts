import { expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { Notes } from './notes.ts';

function setUp() {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = { info: (line: string) => lines.push(line), warn: (line: string) => lines.push(line) };
  const notes = new Notes(clock, log);
  return { clock, lines, notes };
}

it('says the first of a kind at once, and the others in one line a minute', async () => {
  const { clock, lines, notes } = setUp();
  for (let time = 0; time < 1_234; time += 1) notes.say('warn', 'a', 'wrong');
  notes.say('info', 'b', 'other');
  expect(lines).toEqual(['wrong', 'other']);
  await clock.advance(60_000);
  notes.say('warn', 'a', 'wrong');
  expect(lines.slice(2)).toEqual(['wrong (and 1,233 like it since the last line)']);
});

it('remembers a bounded number of kinds', async () => {
  const { clock, lines, notes } = setUp();
  for (let kind = 0; kind < 5_000; kind += 1) notes.say('warn', String(kind), 'wrong');
  expect(lines).toHaveLength(1_000);
  await clock.advance(60_000);
  notes.say('warn', 'new', 'wrong');
  expect(lines).toHaveLength(1_001);
});
