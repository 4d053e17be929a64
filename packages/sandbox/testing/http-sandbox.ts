import { afterAll, beforeAll, expect } from 'vitest';
import type { SandboxOptions } from '../src/switches/sandbox-switches.ts';
import { startTestSandbox, STILL, type TestSandbox } from './sandbox.ts';

/** An answer of the sandbox; `body` is {} where it is not a JSON object. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

interface AskOptions {
  /** Default: the first key; '' for none. */
  readonly key?: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

/** A sandbox to which a test sends plain HTTP requests. */
export interface HttpSandbox {
  readonly sandbox: TestSandbox;
  readonly ask: (path: string, asking?: AskOptions) => Promise<RawAnswer>;
  /** @param body a text verbatim, or a value that becomes JSON */
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<RawAnswer>;
  /** All IDs of a list, read page by page. */
  readonly walk: (path: string) => Promise<string[]>;
}

/** Call it once in a test file: starts one sandbox without limits for its tests. */
export function httpSandbox(switches: Partial<SandboxOptions> = {}): HttpSandbox {
  let sandbox: TestSandbox | undefined;
  beforeAll(async () => {
    sandbox = await startTestSandbox({ ...STILL, limits: 'off', ...switches });
  });
  afterAll(() => sandbox?.stop());
  const scene: HttpSandbox = {
    get sandbox() {
      if (sandbox === undefined) throw new RangeError('no test runs');
      return sandbox;
    },
    ask: async (path, { key = scene.sandbox.key, headers: more, ...rest } = {}) => {
      const headers = { ...(key === '' ? {} : { authorization: `Bearer ${key}` }), ...more };
      const response = await fetch(`${scene.sandbox.url}${path}`, { redirect: 'manual', ...rest, headers });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, body: parsed(text) };
    },
    post: (path, body, headers = {}) =>
      scene.ask(path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers,
      }),
    walk: async (path) => {
      const ids: string[] = [];
      const field = ID_FIELDS[path] ?? 'id';
      for (;;) {
        const after = ids.length === 0 ? '' : `&starting_after=${ids.at(-1) ?? ''}`;
        const { status, body } = await scene.ask(`${path}?limit=50${after}`);
        expect(status).toBe(200);
        expect(body['object']).toBe('list');
        ids.push(...(body['data'] as Record<string, unknown>[]).map((item) => String(item[field])));
        if (body['has_more'] !== true) return ids;
      }
    },
  };
  return scene;
}

const ID_FIELDS: Readonly<Record<string, string>> = {
  '/v1/research': 'job_id',
  '/v1/research/bulk': 'bulk_job_id',
  '/v1/lists': 'list_id',
};

function parsed(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
