import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { withVersions } from '../build/versions-table.ts';
import { lacking, LOOKED_UP, PINNED, SECURITY_RELEASES } from '../src/operate/check.ts';
import { ROOT } from './support/rules/source-files.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as {
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
};

const oldest = Number(/^const OLDEST_NODE = (\d+);$/m.exec(read('bin/research-mirror.js'))?.[1]);

it('the sources keep to the oldest Node that may run them by the types of that version, which the launcher takes and the pinned one is not below', () => {
  expect(manifest.devDependencies['@types/node']).toMatch(new RegExp(`^${oldest}\\.`));
  const pinned = Object.entries(manifest.optionalDependencies).filter(([name]) => name.startsWith('node-'));
  expect(pinned.length).toBe(4);
  for (const [, version] of pinned) expect(Number.parseInt(version)).toBeGreaterThanOrEqual(oldest);
});

it('the sources keep to the oldest Node that may run them by the language of that version: what came with Node 26 has no type', () => {
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

it('what is known of the runtimes is in SECURITY.md as the script writes it, of the versions that npm brings', () => {
  expect(withVersions(read('SECURITY.md'))).toBe(read('SECURITY.md'));
  const brought = Object.entries(manifest.optionalDependencies).map(([name, version]) =>
    name.startsWith('node-') ? `Node ${version}` : `PostgreSQL ${version.split('.', 2).join('.')}`,
  );
  const pinned = [`PostgreSQL ${PINNED.PostgreSQL.version}`, `Node ${PINNED.Node.version}`];
  expect([...new Set(brought)]).toEqual(pinned);
});

it('what is known of the runtimes was looked up since the newest release of this program: read the two pages again before the next one', () => {
  const released = /^## \S+ – (\d{4}-\d{2}-\d{2})$/m.exec(read('CHANGELOG.md'))?.[1] ?? '';
  expect(LOOKED_UP >= released, `${LOOKED_UP} is before ${released}: src/operate/check.ts`).toBe(true);
  for (const { on } of Object.values(SECURITY_RELEASES).flat()) expect(on <= LOOKED_UP).toBe(true);
});

it('what is known of the runtimes has a newest version that lacks nothing', () => {
  for (const runtime of ['Node', 'PostgreSQL'] as const) {
    const newest = SECURITY_RELEASES[runtime].at(-1)?.versions ?? [];
    expect(newest.flatMap((version) => lacking(runtime, version))).toEqual([]);
  }
});
