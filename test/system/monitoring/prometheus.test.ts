import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { nonEphemeralPort } from '@research-mirror/embedded-postgres/ports';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { blocksOf } from '../../support/readme/readme.ts';
import { isPrometheusTested, type Prometheus, promtool, startPrometheus } from '../../support/processes/prometheus.ts';
import { createSystem, type Daemon, type System } from '../../support/processes/system.ts';
import { ALERT_TESTS_FILE, alerts, ALERTS_FILE, dashboard } from '../../support/rules/monitoring.ts';
import { ROOT } from '../../support/rules/source-files.ts';

describe.runIf(isPrometheusTested())('the alerts', () => {
  it('are good rules, and fire when they have to', async () => {
    expect(await promtool(['check', 'rules', ALERTS_FILE])).toMatchObject({ code: 0 });
    expect(await promtool(['test', 'rules', ALERT_TESTS_FILE])).toEqual({
      code: 0,
      output: expect.stringContaining('SUCCESS') as string,
    });
  });
});

describe.runIf(isPrometheusTested())('the files that docs/metrics.md shows', () => {
  it('are taken by Prometheus with the alerts, and its own rule fires after 31 minutes', async () => {
    const page = readFileSync(join(ROOT, 'docs', 'metrics.md'), 'utf8');
    const shown = blocksOf(page).flatMap(({ language, code }) => {
      const [, name] = /^# (\S+\.yml)\n/.exec(code) ?? [];
      return language === 'yaml' && name !== undefined ? [{ name, code }] : [];
    });
    expect(shown.map(({ name }) => name)).toEqual(['prometheus.yml', 'alertmanager.yml', 'own.yml']);
    const folder = mkdtempSync(join(tmpdir(), 'research-mirror-metrics-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const { name, code } of shown) writeFileSync(join(folder, name), code);
    copyFileSync(ALERTS_FILE, join(folder, 'alerts.yml'));
    const config = await promtool(['check', 'config', join(folder, 'prometheus.yml')]);
    expect(config).toMatchObject({ code: 0, output: expect.stringContaining('rules found') as string });
    const labels = 'job="a", user_id="42", collection="lists"';
    const at = (eval_time: string, exp_samples: unknown[]) => ({
      eval_time,
      expr: 'count(ALERTS{alertstate="firing"})',
      exp_samples,
    });
    const rule = {
      rule_files: ['own.yml'],
      evaluation_interval: '1m',
      tests: [
        {
          interval: '1m',
          input_series: [{ series: `research_mirror_polled_timestamp_seconds{${labels}}`, values: '0+0x60' }],
          promql_expr_test: [at('30m', []), at('33m', [{ labels: '{}', value: 1 }])],
        },
      ],
    };
    writeFileSync(join(folder, 'test.yml'), JSON.stringify(rule));
    expect(await promtool(['test', 'rules', join(folder, 'test.yml')])).toMatchObject({ code: 0 });
  });
});

describe.runIf(isPrometheusTested())('a daemon that Prometheus reads', () => {
  let system: System;
  let daemon: Daemon;
  let prometheus: Prometheus;
  beforeAll(async () => {
    system = await createSystem({ jobSeconds: 1 });
    const port = String(await nonEphemeralPort());
    // Before the daemon's first look at the account: its credits fall, and events have come.
    await system.sync();
    expect(await submit('research')).toMatchObject({ code: 0 });
    await system.sync(['account']);
    daemon = await system.daemon({
      MIRROR_PUBLIC_URL: `http://127.0.0.1:${port}`,
      MIRROR_WEBHOOK_PORT: port,
    });
    prometheus = await startPrometheus(new URL(daemon.statusUrl), ALERTS_FILE);
    // What counters count is in their rates from the second look on.
    await seen('research_mirror_build_info');
    await system.sync(['--full']);
    const { control } = system.sandbox;
    await eventually('a registered webhook', async () => (await control.webhook()) !== null);
    const fields = { status: 'completed' };
    await control.mutate({ op: 'insert', collection: 'research_jobs', fields });
    await seen('research_mirror_webhook_last_event_timestamp_seconds');
  });
  afterAll(async () => {
    await prometheus?.stop();
    await system?.close();
  });

  const submit = (operation: string) =>
    system.run(['submit', operation, '--data', '{"company_url":"https://acme.example"}']);
  const seen = (expression: string) =>
    eventually(expression, async () => {
      const samples = await prometheus.query(expression);
      return samples.some(({ value: [, value] }) => value !== 'NaN') && samples;
    });

  it('has metrics that follow the rules of Prometheus', async () => {
    const text = await (await fetch(`${daemon.statusUrl}/metrics`)).text();
    expect(text).toContain('research_mirror_credits{user_id="1001"}');
    expect(await promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' });
    // What it complains of.
    const bad = await promtool(['check', 'metrics'], '# TYPE a_total gauge\na_total 1\n');
    expect(bad).toMatchObject({ code: 3, output: expect.stringContaining('a_total') as string });
  });

  it.each(
    dashboard().panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }, index): [string, string] => [`${title}, query ${index + 1}`, expr]),
    ),
  )('answers the dashboard’s %s', async (_, expression) => {
    const asked = expression.replaceAll('$__rate_interval', '5m').replaceAll(/\$(job|account)/g, '.*');
    expect(await seen(asked)).not.toEqual([]);
  });

  it('fills the variables of the dashboard', async () => {
    for (const { query } of dashboard().templating.list) {
      if (typeof query !== 'object' || query === null || !('query' in query)) continue;
      const [, series = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(String(query.query)) ?? [];
      const values = await prometheus.api<string[]>(`label/${label}/values`, {
        'match[]': series.replaceAll('$job', '.*'),
      });
      expect([label, values]).toEqual([label, label === 'job' ? ['research-mirror'] : ['1001']]);
    }
  });

  it('fires no alert but those of what is wrong, and each rule can be judged', async () => {
    type Rules = { groups: { rules: { name: string; health: string }[] }[] };
    const rules = (await prometheus.api<Rules>('rules')).groups.flatMap((group) => group.rules);
    expect(rules.map(({ name }) => name)).toEqual(alerts().map(({ name }) => name));
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
    const { alerts: raised } = await prometheus.api<{ alerts: unknown[] }>('alerts');
    expect(raised).toEqual([]);
  });

  it('shows the first event of a counter as an increase', async () => {
    const unknown = 'research_mirror_submissions_total{operation="enrich",outcome="rejected"}';
    await seen(`${unknown} == 0`);
    await system.sandbox.control.change({ fault409: 1 });
    await submit('enrich');
    expect(await seen(`increase(${unknown}[5m]) > 0`)).toHaveLength(1);
  });
});
