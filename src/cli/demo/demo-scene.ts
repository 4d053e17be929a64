import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// What is prepared in the demo, so that its features show: an item that can't be mirrored, a list that is deleted once
// it was mirrored, a delivery that nobody signed.

/** Name of a file in the demo's folder: the list that was deleted there. */
const DELETED_LIST = 'deleted-list';

/** Postgres has no such number: the entry goes to quarantine. */
const UNSTORABLE = '{"object":"watch_entry","id":"demo-unstorable","name":"Unstorable Ltd","score":1e200000}';

/** The service remembers it at the next start, and refuses to have it twice. */
export async function prepareService(controlUrl: string): Promise<void> {
  await mutate(controlUrl, {
    op: 'insert',
    collection: 'watchlist',
    id: 'demo-unstorable',
    source: UNSTORABLE,
  });
}

/** Deletes a list at the service, the first time that the demo has mirrored its lists. */
export async function deleteOneList(controlUrl: string, folder: string): Promise<void> {
  if (existsSync(join(folder, DELETED_LIST))) return;
  const answer = await fetch(`${controlUrl}/truth?collection=lists`);
  const [first = ''] = (await answer.text()).split('\n');
  const { list_id: id } = JSON.parse(first) as { list_id: number };
  await writeFile(join(folder, DELETED_LIST), `${id}\n`);
  await mutate(controlUrl, { op: 'delete', collection: 'lists', id: String(id) });
}

/**
 * Sends what a stranger might: a delivery without signature. Until the daemon knows its accounts it asks for it again.
 * @param pause between two attempts; ends them by throwing
 */
export async function sendUnsigned(webhookUrl: string, pause: () => Promise<void>): Promise<void> {
  for (;;) {
    const answer = await fetch(webhookUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"id":"evt_forged","type":"research.completed","data":{"job_id":1}}',
    });
    await answer.arrayBuffer();
    if (answer.status === 400) return;
    await pause();
  }
}

async function mutate(controlUrl: string, mutation: Readonly<Record<string, string>>): Promise<void> {
  const answer = await fetch(`${controlUrl}/mutations`, { method: 'POST', body: JSON.stringify([mutation]) });
  await answer.arrayBuffer();
}
