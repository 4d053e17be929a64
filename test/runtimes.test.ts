import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './support/rules/source-files.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
};

describe('the sources keep to the oldest Node that may run them', () => {
  const oldest = Number(/^const OLDEST_NODE = (\d+);$/m.exec(read('bin/research-mirror.js'))?.[1]);

  it('by the types of that version, which the launcher takes and the pinned one is not below', () => {
    expect(manifest.devDependencies['@types/node']).toMatch(new RegExp(`^${oldest}\\.`));
    const pinned = Object.entries(manifest.optionalDependencies).filter(([name]) => name.startsWith('node-'));
    expect(pinned.length).toBe(4);
    for (const [, version] of pinned) expect(Number.parseInt(version)).toBeGreaterThanOrEqual(oldest);
  });

  it('by the language of that version: what came with Node 26 has no type', () => {
    // Never called: `npm run types` fails where one of these is no error any more.
    const lacking = [
      // @ts-expect-error
      () => Temporal.Now.instant(),
      // @ts-expect-error
      () => new Map<string, number>().getOrInsert('a', 1),
      // @ts-expect-error
      () => Uint8Array.fromBase64(''),
    ];
    expect(lacking).toHaveLength(3);
  });
});
