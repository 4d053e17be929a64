import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PROBLEM_CAUSES } from '../src/status/problem.ts';
import { ALERT_TESTS_FILE, alerts, dashboard } from './support/rules/monitoring.ts';
import { ROOT, sourceFiles } from './support/rules/source-files.ts';

const runbook = readFileSync(join(ROOT, 'docs', 'runbook.md'), 'utf8');
const entries = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);

it('alerts have an entry in the runbook each, and the runbook has no other, in the same order', () => {
  expect(alerts().length).toBeGreaterThan(10);
  expect(entries).toEqual(alerts().map(({ name }) => name));
});

it('alerts say how grave they are, what they mean, and where the entry is', () => {
  for (const { name, text } of alerts()) {
    expect(text).toMatch(/^ *severity: (critical|warning|info)$/m);
    expect(text).toMatch(/^ *summary: \S/m);
    expect(text).toMatch(/^ *description: \S/m);
    expect(text).toContain(`runbook_url: docs/runbook.md#${name.toLowerCase()}\n`);
  }
});

it('alerts are all in the table of docs/metrics.md, as grave as they are', () => {
  const table = readFileSync(join(ROOT, 'docs', 'metrics.md'), 'utf8');
  const rows = [...table.matchAll(/^\| \[`(ResearchMirror\w+)`\]\(runbook\.md#(\w+)\) \|.*\| (\w+) \|$/gm)];
  const told = rows.map(([, name = '', anchor, severity]) => ({ name, anchor, severity }));
  const known = alerts().map(({ name, text }) => {
    const [, severity] = /^ *severity: (\w+)$/m.exec(text) ?? [];
    return { name, anchor: name.toLowerCase(), severity };
  });
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
  expect(told.toSorted(byName)).toEqual(known.toSorted(byName));
});

it('alerts each have a test in which they fire', () => {
  const tested = readFileSync(ALERT_TESTS_FILE, 'utf8');
  const fires = (name: string): boolean =>
    new RegExp(`alertname="${name}"[^\n]*(?:, value: 1|\n *value: 1)`).test(tested) ||
    new RegExp(`alertname: ${name}\n *exp_alerts:`).test(tested);
  expect(alerts().filter(({ name }) => !fires(name))).toEqual([]);
});

it('alerts name only causes of problems that there are', () => {
  const named = alerts().flatMap(({ text }) =>
    [...text.matchAll(/problems\{cause="(\w+)"\}/g)].map(([, cause]) => cause),
  );
  expect(named.length).toBeGreaterThan(2);
  expect(named.filter((cause) => !PROBLEM_CAUSES.some((each) => each === cause))).toEqual([]);
});

it('docs/problems.md has each cause, the worst first, with words that the program says', () => {
  const page = readFileSync(join(ROOT, 'docs', 'problems.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, cause, words = '']) => ({ cause, words }));
  expect(rows.map(({ cause }) => cause)).toEqual(PROBLEM_CAUSES);
  const source = sourceFiles('src')
    .filter(({ path }) => !path.endsWith('.test.ts'))
    .map(({ text }) => text)
    .join('\n');
  const parts = rows.flatMap(({ words }) =>
    [...words.matchAll(/`(?:webhook: )?([^`]+)`/g)].flatMap(([, said = '']) => said.split(/…|: (?=\w)/)),
  );
  const sought = parts.map((part) => part.trim()).filter((part) => part !== '');
  expect(sought.length).toBeGreaterThan(PROBLEM_CAUSES.length);
  expect(sought.filter((part) => !source.includes(part))).toEqual([]);
});

const { panels, templating } = dashboard();
const asking = panels.filter(({ type }) => type !== 'row');

it('the Grafana dashboard asks the data source that is chosen when it is opened', () => {
  expect(templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource', query: 'prometheus' });
  for (const { datasource, targets = [] } of asking) {
    expect(targets.length).toBeGreaterThan(0);
    for (const each of [datasource, ...targets.map((target) => target.datasource)])
      expect(each?.uid).toBe('${datasource}');
  }
});

it('the Grafana dashboard uses no variable that it does not have', () => {
  const known = new Set([...templating.list.map(({ name }) => name), '__rate_interval']);
  const used = asking.flatMap(({ targets = [] }) =>
    targets.flatMap(({ expr }) => [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name ?? '')),
  );
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});

it('the Grafana dashboard has panels that each say what they show, under a number of their own, and none over another', () => {
  const ids = panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(asking.filter(({ title, description = '' }) => title === '' || description === '')).toEqual([]);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
});
