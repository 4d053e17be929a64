import { afterAll, beforeAll, expect } from 'vitest';
import type { SandboxOptions } from '../src/switches/sandbox-switches.ts';
import { startTestSandbox, STILL, type TestSandbox } from './sandbox.ts';

interface AskOptions {
  /** Default: the first key; '' for none. */
  readonly key?: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** Call it once in a test file: one sandbox without limits for its tests, and plain HTTP requests to it. */
export function httpSandbox(switches: Partial<SandboxOptions> = {}) {
  const sandbox = {} as TestSandbox;
  beforeAll(async () => {
    Object.assign(sandbox, await startTestSandbox({ ...STILL, limits: 'off', ...switches }));
  });
  afterAll(() => sandbox.stop());
  /** @returns `body` is {} where it is not a JSON object */
  const ask = async (path: string, { key = sandbox.key, headers: more, ...rest }: AskOptions = {}) => {
    const headers = { ...(key === '' ? {} : { authorization: `Bearer ${key}` }), ...more };
    const response = await fetch(`${sandbox.url}${path}`, { redirect: 'manual', ...rest, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parsed(text) };
  };
  /** @param body a text verbatim, or a value that becomes JSON */
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers });
  /** All IDs of a list, read page by page. */
  const walk = async (path: string): Promise<string[]> => {
    const ids: string[] = [];
    for (;;) {
      const after = ids.length === 0 ? '' : `&starting_after=${ids.at(-1) ?? ''}`;
      const { status, body } = await ask(`${path}?limit=50${after}`);
      expect(status).toBe(200);
      expect(body['object']).toBe('list');
      // Its ID is each item's first field.
      ids.push(...(body['data'] as object[]).map((item) => String(Object.values(item)[0])));
      if (body['has_more'] !== true) return ids;
    }
  };
  return { sandbox, ask, post, walk };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
