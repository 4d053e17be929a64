import type { SandboxOptions } from '../switches/sandbox-switches.ts';

/** What the service answers to one request. */
export interface Answer {
  readonly status: number;
  /** undefined: no body. */
  readonly body: string | undefined;
  /** The rest of a body that is too large for memory: made while it is sent. */
  readonly rest?: Iterable<string>;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Items of a list page, for the log. */
  readonly items?: number;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** An answer whose body is this JSON text. */
export function json(status: number, body: string, items?: number): Answer {
  return items === undefined ? { status, body, type: JSON_TYPE } : { status, body, type: JSON_TYPE, items };
}

export function noContent(): Answer {
  return { status: 204, body: undefined, type: JSON_TYPE };
}

/** An error in the body shape of the switch `errorBody` (the specification shows none). */
export function failure(
  status: number,
  code: string,
  message: string,
  shape: SandboxOptions['errorBody'],
): Answer {
  switch (shape) {
    case 'code':
      return json(status, JSON.stringify({ error: { code, message } }));
    case 'detail':
      return json(status, JSON.stringify({ detail: message }));
    case 'details':
      return json(status, JSON.stringify({ detail: [{ loc: ['request'], msg: message, type: code }] }));
    case 'message':
      return json(status, JSON.stringify({ message }));
    case 'text':
      return { status, body: `${message}\n`, type: 'text/plain; charset=utf-8' };
    case 'html':
      return { status, body: htmlPage(`${status} ${code}`), type: 'text/html; charset=utf-8' };
  }
}

export function htmlPage(title: string): string {
  return `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
}
