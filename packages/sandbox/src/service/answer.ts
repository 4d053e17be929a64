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
export function failure(status: number, code: string, message: string, shape: SandboxOptions['errorBody']): Answer {
  const answers: Readonly<Record<SandboxOptions['errorBody'], Answer>> = {
    code: json(status, JSON.stringify({ error: { code, message } })),
    detail: json(status, JSON.stringify({ detail: message })),
    details: json(status, JSON.stringify({ detail: [{ loc: ['request'], msg: message, type: code }] })),
    message: json(status, JSON.stringify({ message })),
    text: { status, body: `${message}\n`, type: 'text/plain; charset=utf-8' },
    html: { status, body: htmlPage(`${status} ${code}`), type: 'text/html; charset=utf-8' },
  };
  return answers[shape];
}

export function htmlPage(title: string): string {
  return `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
}

/** Longer pages, in UTF-16 units, are made while they are sent: V8 can't hold a text of 500 items of megabytes. */
const MAX_BUFFERED = 4 * 1024 * 1024;

/**
 * A page of `count` items, given as their texts: the list envelope of specification 2.5, in the shape of the switches.
 * @param nestedName field of the page in a nested envelope
 * @param lastId ID of the last item, for `next_cursor`
 */
export function listAnswer(
  texts: Iterable<string>,
  count: number,
  hasMore: boolean,
  lastId: string | undefined,
  nestedName: string,
  options: SandboxOptions,
): Answer {
  let after = '';
  if (options.hasMore !== 'missing') after += `,"has_more":${hasMore}`;
  if (options.cursor === 'opaque' || options.cursor === 'garbled') {
    const cursor = options.cursor === 'opaque' ? JSON.stringify(tokenOf(lastId ?? '')) : garbled(lastId ?? '');
    after += `,"next_cursor":${hasMore && lastId !== undefined ? cursor : 'null'}`;
  }
  const object = `{"object":"list"${NO_ERROR[options.noError]}`;
  const pieces =
    options.envelope === 'flat'
      ? piecesOf(texts, `${object},"data":[`, `]${after}}`)
      : piecesOf(texts, `${object},"${nestedName}":{"data":[`, `]${after}},"meta":{"version":1}}`);
  let body = '';
  for (;;) {
    const { done, value } = pieces.next();
    if (done === true) return json(200, body, count);
    body += value;
    if (body.length > MAX_BUFFERED) return { ...json(200, body, count), rest: pieces };
  }
}

function* piecesOf(texts: Iterable<string>, head: string, tail: string): Generator<string, undefined> {
  let before = head;
  for (const text of texts) {
    yield before + text;
    before = ',';
  }
  yield before === head ? head + tail : tail;
}

const NO_ERROR: Readonly<Record<SandboxOptions['noError'], string>> = {
  missing: '',
  null: ',"error":null',
  false: ',"error":false',
  zero: ',"error":0',
  empty: ',"error":""',
  list: ',"errors":[]',
  object: ',"errors":{}',
};

/** A cursor of a broken encoder: jsonb accepts neither form, and the second is not valid Unicode. */
function garbled(id: string): string {
  return /[02468]$/.test(id) ? String.raw`"\u0000${id}"` : String.raw`"\ud800${id}"`;
}

/** The opaque cursor of an ID, for the switch value `opaque`. */
export function tokenOf(id: string): string {
  return `c_${Buffer.from(id).toString('base64url')}`;
}
