import { createRequire } from 'node:module';

/** What a peer is told by its environment: `bench/peers/peer.ts`. */
export const ASKED = {
  service: variable('SERVICE_URL'),
  key: variable('SERVICE_KEY'),
  database: variable('DATABASE_URL'),
  /** Rows above those that are there; else all of them. */
  onlyNew: variable('PEER_MODE') === 'new',
};

/** Packages that are not ours: they are installed beside the checkout, not in it. */
export const foreign = createRequire(variable('PEER_PACKAGES'));

export interface Job {
  readonly job_id: number;
  readonly [field: string]: unknown;
}

export interface JobPage {
  /** The whole answer: `{"data": [job …], …}`. */
  readonly text: string;
  readonly jobs: readonly Job[];
}

/** Fields of a research job and their types in Postgres, as somebody would write them down by hand. */
export const JOB_COLUMNS: Readonly<Record<string, string>> = {
  job_id: 'bigint',
  object: 'text',
  status: 'text',
  name: 'text',
  url: 'text',
  domain: 'text',
  industry: 'text',
  employee_count: 'bigint',
  country: 'text',
  location: 'jsonb',
  created_at: 'timestamptz',
  started_at: 'timestamptz',
  completed_at: 'timestamptz',
  updated_at: 'timestamptz',
  document_id: 'bigint',
  score: 'numeric',
  error: 'jsonb',
  founded: 'bigint',
  revenue_usd: 'numeric',
  growth_rate: 'numeric',
  public: 'boolean',
  technologies: 'jsonb',
  summary: 'text',
  contacts: 'jsonb',
  sources: 'jsonb',
};

/**
 * The pages of the list, newest jobs first. The next one is under way while a page is written.
 * @param known the walk ends with the page that reaches this job
 */
export async function* jobPages(known = -1): AsyncGenerator<JobPage> {
  let coming = answer('');
  for (;;) {
    const text = await coming;
    const { data: jobs, has_more: more } = JSON.parse(text) as { data: readonly Job[]; has_more: boolean };
    const last = jobs.at(-1)?.job_id ?? -1;
    const goesOn = more && last > known;
    if (goesOn) coming = answer(`&starting_after=${last}`);
    yield { text, jobs };
    if (!goesOn) return;
  }
}

async function answer(after: string): Promise<string> {
  const response = await fetch(`${ASKED.service}/v1/research?limit=500${after}`, {
    headers: { authorization: `Bearer ${ASKED.key}` },
  });
  if (!response.ok) throw new Error(`the service answers ${response.status}`);
  return response.text();
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: bench/peers/compare.ts starts this program`);
  return value;
}
