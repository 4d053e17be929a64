import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-files.ts';

const FOLDER = join(ROOT, 'monitoring');
export const ALERTS_FILE = join(FOLDER, 'alerts.yml');
export const ALERT_TESTS_FILE = join(FOLDER, 'alerts.test.yml');

/** A panel of the dashboard that asks something; rows ask nothing. */
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query: unknown }[];
  };
}

export function dashboard(): Dashboard {
  return JSON.parse(readFileSync(join(FOLDER, 'grafana-dashboard.json'), 'utf8')) as Dashboard;
}

/** Each alert's name and its lines in the rules file. */
export function alerts(): { readonly name: string; readonly text: string; readonly expr: string }[] {
  const [, ...blocks] = readFileSync(ALERTS_FILE, 'utf8').split(/^ *- alert: /m);
  return blocks.map((block) => ({
    name: /^\w+/.exec(block)?.[0] ?? '',
    text: block,
    expr: (/ expr: (?:\|\n)?([\s\S]*?)\n +(?:for|labels):/.exec(block)?.[1] ?? '').trim(),
  }));
}
