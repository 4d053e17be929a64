import { describe, expect, it } from 'vitest';
import { systemClock } from '@research-mirror/runtime/clock';
import { Scrubber } from '@research-mirror/runtime/scrub';
import { runCommandLine } from '../run.ts';

/** Runs the command line with a terminal, or a pipe, for stdout. */
async function ended(args: readonly string[], isTTY: boolean): Promise<{ code: number; err: string }> {
  let err = '';
  const code = await runCommandLine(args, {
    // There is no mirror: what is wrong with the command line is told before one is looked for.
    env: { MIRROR_DATA_DIR: '/nowhere' },
    out: { write: () => true, isTTY },
    err: { write: (text) => (err += String(text)) },
    signal: new AbortController().signal,
    clock: systemClock,
    scrubber: new Scrubber(),
  });
  return { code, err };
}

describe('export', () => {
  it('writes no Parquet to a terminal', async () => {
    expect(await ended(['export', 'lists', '--parquet'], true)).toEqual({
      code: 2,
      err: expect.stringContaining('nothing for a terminal: name a file with --output') as string,
    });
    expect(await ended(['export', 'lists', '--parquet', '-o', '-'], true)).toMatchObject({ code: 2 });
    for (const [format, isTTY] of [
      ['--parquet', false],
      ['--csv', true],
    ] as const) {
      const { code, err } = await ended(['export', 'lists', format], isTTY);
      expect({ code, err }).toEqual({
        code: 3,
        err: expect.stringContaining('no mirror in /nowhere') as string,
      });
    }
  });
});
