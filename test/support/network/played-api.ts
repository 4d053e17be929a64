import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createApi, type ApiOptions, type Exchange, type PageRequest } from '../../../src/service/api.ts';
import type { TransportLimits } from '../../../src/service/transport.ts';
import { PRIORITY } from '../../../src/service/rate-groups.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { openBudget } from '../budget/open-budget.ts';
import { KEY, transports } from './transports.ts';

/** A page of research jobs, as the first one is asked for. */
export const RESEARCH: PageRequest = {
  path: '/v1/research',
  route: '/v1/research',
  keyField: 'job_id',
  keyType: 'bigint',
  cursor: undefined,
  limit: 500,
  priority: PRIORITY.POLL,
  signal: new AbortController().signal,
};

/** A good answer to it. */
export const PAGE = '{"object":"list","data":[{"job_id":1}],"has_more":false}';

type Play = (request: IncomingMessage, response: ServerResponse) => void;

/** Clients of a service that a test plays. To be called once in a test file: what it makes is closed after each test. */
export function playedApis() {
  const { serve, transport } = transports();
  return async (
    listener: RequestListener,
    options: Partial<ApiOptions> = {},
    limits: Partial<TransportLimits> = {},
  ) => {
    const { url } = await serve(listener);
    const budget = openBudget();
    /** Every attempt that ended. */
    const exchanges: Exchange[] = [];
    const api = createApi({
      transport: transport(url, { limits }),
      key: KEY,
      budget,
      clock: systemClock,
      random: () => 0,
      scrub: (text) => text.replaceAll(KEY, '***'),
      onExchange: (exchange) => exchanges.push(exchange),
      ...options,
    });
    return { api, budget, exchanges };
  };
}

/** A service that plays these answers, one a request, and then good pages. */
export function playing(...answers: readonly Play[]): RequestListener {
  let next = 0;
  return (request, response) => {
    const answer = answers[next++];
    if (answer === undefined) response.end(PAGE);
    else answer(request, response);
  };
}

export function status(code: number, body = '', headers: Record<string, string> = {}): Play {
  return (_, response) => {
    response.writeHead(code, headers).end(body);
  };
}
