import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withSettings } from '../../build/settings-table.ts';
import { InvalidConfig } from './parse-values.ts';
import { loadConfig } from './load.ts';
import { VARIABLES } from './settings.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** The configuration as text, or what is wrong with it. */
function outcome(env: Record<string, string>): string {
  try {
    return JSON.stringify(loadConfig(env, 'database'));
  } catch (error) {
    if (error instanceof InvalidConfig) return error.message;
    throw error;
  }
}

describe('the settings', () => {
  it.each(VARIABLES)('are all read: %s makes a difference', (name) => {
    expect(outcome({ [name]: '\u0001' })).not.toBe(outcome({}));
  });

  it('equal docs/settings.md; if not: npm run -s settings-table -- --write', () => {
    const text = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8');
    expect(withSettings(text)).toBe(text);
  });
});
