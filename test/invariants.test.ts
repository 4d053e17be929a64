import { readFileSync } from 'node:fs';
import { matchesGlob, join } from 'node:path';
import { expect, it } from 'vitest';
import { PROJECTS } from './support/projects.ts';
import { ROOT, sourceFiles } from './support/rules/source-files.ts';

/**
 * What proves each invariant of ARCHITECTURE.md, "What must always hold", by its heading there: files, and what the
 * names of their tests begin with. Other tests prove them, too, with whole programs that are killed (test/system,
 * test/attack); these are what nobody lands a change without.
 */
const PROOFS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'Page-atomic.': {
    'test/integration/invariants/page-atomic.test.ts': ['is of one transaction', 'is taken back when the commit'],
    'test/integration/invariants/walks.test.ts': ['leaves nothing of that page to the next walk'],
  },
  'Only proven pages count': {
    'src/service/envelope.test.ts': [
      'never takes a part of an answer for a page',
      'answers anything at all with a page',
    ],
    'test/integration/invariants/walks.test.ts': ['change nothing of rows, order, frontier and freshness'],
  },
  'An unchanged row costs no write': {
    'test/integration/mirror/page/write-page.test.ts': ['that is unchanged writes the scope’s row and nothing else'],
    'test/main-path/main-path.test.ts': ['makes the mirror equal to the service in every field, and writes nothing'],
  },
  'Never backwards.': {
    'test/integration/invariants/walks.test.ts': ['take turns: one request at a time, none superseded'],
    'test/integration/mirror/page/write-page.test.ts': ['is not applied after a later observation'],
    'src/sync/scope-session.test.ts': ['has one request under way at most'],
  },
  'No deletion without proof': {
    'test/integration/invariants/deletions.property.test.ts': ['whatever pages say: two proofs'],
  },
  'No request without a reserved slot': {
    'src/service/stored-slots.test.ts': ['is committed before the request is sent', 'of a killed process counts until'],
    'test/integration/service/budget-store.test.ts': ['gives a new process what the last one reserved'],
  },
  'A verified delivery is never lost': {
    'test/integration/events/receiver.test.ts': ['that is away lets deliveries come again', 'delivers twice'],
    'test/integration/postgres/durable-commit.test.ts': ['an event that is answered'],
  },
  'A POST operation is sent at most once': {
    'test/integration/submissions/submission-claims.test.ts': ['is had by one of many that try it at once'],
    'test/integration/submissions/submission-outcomes.test.ts': ['is left alone until its request must be over'],
    'test/integration/postgres/installation/installation-hold.test.ts': [
      'a hold takes queued submissions and nothing else',
    ],
    'src/submissions/submitter.property.test.ts': ['is sent at most once, in time, within the limits'],
  },
  'One writer per account': {
    'test/integration/invariants/one-writer.test.ts': ['writes nothing more of it: %s'],
    'test/integration/invariants/takeover.test.ts': ['goes to one of two processes'],
  },
  'Nothing is lost in translation.': {
    'src/model/json-text.test.ts': ['keeps every digit and spelling'],
    'test/integration/mirror/quarantine/tried-again.test.ts': ['retries items that were refused by'],
  },
};

const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
/** Projects that these scripts run. */
const runBy = (...names: string[]) =>
  PROJECTS.filter(({ name }) => names.some((each) => scripts[each]?.split(' ').includes(name)));
const runsIn = (projects: (typeof PROJECTS)[number][], path: string): boolean =>
  projects.some(({ include }) => include.some((pattern) => matchesGlob(path, pattern)));

const section = text('ARCHITECTURE.md').split('## What must always hold')[1]?.split('\n## ')[0] ?? '';

it('the quick gate has proofs of every invariant of ARCHITECTURE.md, and of no other', () => {
  const invariants = [...section.matchAll(/^\d+\. \*\*(.+?)\*\*/gm)].map(([, heading]) => heading);
  expect(invariants).toHaveLength(10);
  expect(Object.keys(PROOFS)).toEqual(invariants);
});

it.each(Object.entries(PROOFS))('the quick gate runs them: %s', (_, files) => {
  for (const [path, names] of Object.entries(files)) {
    expect(runsIn(runBy('test'), path), `${path} is of no project that npm test runs`).toBe(true);
    for (const name of names) expect(text(path), `${path} has no such test`).toContain(name);
  }
});

it('the quick gate and the rest of what CI runs leave no test file out', () => {
  const names = ['test', 'test:long', 'test:python', 'test:citus'];
  for (const name of names) expect(text('.ci/run')).toMatch(new RegExp(`npm (run -s )?${name}\\b`));
  expect(runBy(...names)).toEqual(PROJECTS);
  const paths = ['src', 'packages', 'test'].flatMap(sourceFiles).map(({ path }) => path);
  expect(paths.filter((path) => path.endsWith('.test.ts') && !runsIn([...PROJECTS], path))).toEqual([]);
});
