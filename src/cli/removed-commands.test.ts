import { systemClock } from '@research-mirror/runtime/clock';
import { Scrubber } from '@research-mirror/runtime/scrub';
import { describe, expect, it } from 'vitest';
import { REMOVED_COMMANDS, runCommandLine } from './run.ts';

async function ended(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const code = await runCommandLine(args, {
    env: {},
    out: { write: (text) => (out += String(text)) },
    err: { write: (text) => (err += String(text)) },
    signal: new AbortController().signal,
    clock: systemClock,
    scrubber: new Scrubber(),
  });
  return { code, out, err };
}

describe.each(Object.entries(REMOVED_COMMANDS))('the removed command "%s"', (name, sentence) => {
  const words = name.split(' ');
  const said = { code: 2, out: '', err: `research-mirror: ${sentence}\n` };

  it('says in one sentence what to use instead, whatever follows', async () => {
    expect(sentence).toMatch(/^[^\n]+[^.\n]\.$/);
    expect(sentence).not.toMatch(/\. [A-Z]/);
    for (const rest of [[], ['some', 'words'], ['--an-option', 'value', '-x'], ['--help']])
      expect(await ended(...words, ...rest)).toEqual(said);
    expect(await ended('help', ...words)).toEqual(said);
    const [command = '', ...action] = words;
    expect(await ended(command, '--limit', '5', ...action)).toEqual(said);
  });
});
