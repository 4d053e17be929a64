import type { SandboxOptions } from '../switches/sandbox-switches.ts';
import { companyDomain } from '../world/company.ts';
import { fraction, hashText, mix } from '../hash.ts';
import type { Population } from '../world/population.ts';
import { failure, json, type Answer } from './answer.ts';
import type { Operation } from './routes.ts';
import type { User } from './account.ts';

/** Credits that each operation uses up. */
const COST: Readonly<Record<Operation, number>> = {
  research: 1,
  enrich: 0.5,
  clay_enrich: 0.25,
  bulk_research: 10,
  list: 0,
  list_analyze: 5,
  sequence: 2,
};

/** How long an analysis by `POST /v1/lists/{id}/analyze` takes. */
const ANALYSIS_MS = 20_000;

/**
 * The POST operations of specification 4.4, which does not show their payloads: any JSON is accepted. What an
 * operation creates is in its list at once.
 * @param body parsed; undefined for an empty one
 */
export function operate(
  user: User,
  operation: Operation,
  id: string,
  body: unknown,
  options: SandboxOptions,
  time: number,
): Answer {
  const { data } = user;
  const status = Number(options.postStatus);
  const accepted = (text: string): Answer => {
    user.spent += COST[operation];
    return json(status, text);
  };
  switch (operation) {
    case 'research':
      return accepted(created(data.collection('research_jobs'), companyFields(body), time));
    case 'bulk_research':
      return accepted(created(data.collection('bulk_research_jobs'), nameFields(body), time));
    case 'list':
      return accepted(created(data.collection('lists'), nameFields(body), time));
    case 'enrich':
    case 'clay_enrich': {
      user.operations += 1;
      const domain = companyDomain(hashText(JSON.stringify(body) ?? ''));
      return accepted(
        `{"object":"enrichment","id":"enr_${user.operations}","status":"completed","domain":"${domain}","score":${user.operations % 100}}`,
      );
    }
    case 'list_analyze':
      return analyze(user, id, options, time, accepted);
    case 'sequence': {
      const jobs = data.collection('research_jobs');
      const job = jobs.findVisible(id, time);
      if (job === undefined) return failure(404, 'not_found', 'No such research job', options.errorBody);
      user.operations += 1;
      return accepted(
        `{"object":"sequence","id":"seq_${user.operations}","job_id":${typeof job === 'number' ? jobs.plan.ids.json(job) : JSON.stringify(id)},"status":"queued","steps":[]}`,
      );
    }
  }
}

/** Creates an item with the next ID. @returns its text, as in its list */
function created(population: Population, fields: Record<string, unknown>, time: number): string {
  const slot = population.sequence.post(time);
  if (Object.keys(fields).length > 0) population.change(slot, { kind: 'update', at: time, silent: true, fields });
  return population.text(slot, time);
}

/** The list is `analyzing` for a while, then `completed`, or `failed` with the probability of failed jobs. */
function analyze(
  user: User,
  id: string,
  options: SandboxOptions,
  time: number,
  accepted: (text: string) => Answer,
): Answer {
  const lists = user.data.collection('lists');
  const list = lists.findVisible(id, time);
  if (list === undefined) return failure(404, 'not_found', 'No such list', options.errorBody);
  const silent = false;
  const fails = fraction(mix(hashText(id), 43)) < options.failedShare;
  lists.change(list, { kind: 'update', at: time, silent, fields: { status: 'analyzing' } });
  lists.change(list, {
    kind: 'update',
    at: time + ANALYSIS_MS,
    silent,
    fields: { status: fails ? 'failed' : 'completed' },
  });
  return accepted(lists.text(list, time));
}

/** The company's fields in a body, where they are texts: its domain, and what is known of it by then, are its URL's. */
function companyFields(body: unknown): Record<string, unknown> {
  const { company_url: companyUrl, url = companyUrl, name } = fieldsOf(body);
  if (typeof url !== 'string') return typeof name === 'string' ? { name } : {};
  const domain = URL.parse(/^https?:/i.test(url) ? url : `https://${url}`)?.hostname.replace(/^www\./, '');
  return { url, domain: domain ?? null, name: typeof name === 'string' ? name : (domain ?? url) };
}

function nameFields(body: unknown): Record<string, unknown> {
  const { name } = fieldsOf(body);
  return typeof name === 'string' ? { name } : {};
}

function fieldsOf(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
}
