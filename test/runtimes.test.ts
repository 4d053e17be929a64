import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unknownReleases } from '../build/runtime-releases.ts';
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

it('releases of the runtimes that nobody has looked at are told from the lists of nodejs.org and postgresql.org', () => {
  const node = (version: string, date: string, security: boolean) => ({ version: `v${version}`, date, security });
  const [known = ''] = SECURITY_RELEASES.Node.at(-1)?.versions ?? [];
  const list = [
    node('26.99.0', '2099-01-02', true),
    node('28.1.1', '2099-01-02', true),
    node('26.98.0', '2099-01-01', false),
    node('22.99.0', '2099-01-02', true),
    node(known, '2099-01-02', true),
    node('26.1.0', '2026-05-01', true),
  ];
  expect(unknownReleases('Node', list, '2099-01-01')).toEqual([
    'Node 26.99.0 (2099-01-02)',
    'Node 28.1.1 (2099-01-02)',
  ]);
  const postgresql = [
    { major: '18', latestMinor: '99', relDate: '2099-01-02', supported: true },
    { major: '17', latestMinor: '12', relDate: '2026-11-12', supported: true },
    { major: '14', latestMinor: '99', relDate: '2099-01-02', supported: true },
    { major: '19', latestMinor: '3', relDate: '2099-01-02', supported: false },
  ];
  expect(unknownReleases('PostgreSQL', postgresql, '2099-01-01')).toEqual(['PostgreSQL 18.99 (2099-01-02)']);
  for (const other of [{}, [], [{ version: 'v26.99.0', date: '2099-01-02' }]]) {
    expect(() => unknownReleases('Node', other, '2099-01-01')).toThrow('another form');
  }
});
