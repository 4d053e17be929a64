import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// What is prepared in the demo, so that its features show: an item that can't be mirrored, a list that is deleted once
// it was mirrored, a delivery that nobody signed.

/** Name of a file in the demo's folder: the list that was deleted there. */
const DELETED_LIST = 'deleted-list';

/** Postgres has no such number: the entry goes to quarantine. */
const UNSTORABLE = '{"object":"watch_entry","id":"demo-unstorable","name":"Unstorable Ltd","score":1e200000}';

/** The world of the emulated service is the same at each start: what was changed in it by hand is changed again. */
export async function prepareService(controlUrl: string, folder: string): Promise<void> {
  await mutate(controlUrl, {
    op: 'insert',
    collection: 'watchlist',
    id: 'demo-unstorable',
    source: UNSTORABLE,
  });
  const list = await deletedList(folder);
  if (list !== undefined) await deleteList(controlUrl, list);
}

/**
 * Deletes a list at the service, the first time that the demo has mirrored its lists.
 * @returns its ID; undefined where one was deleted before
 */
export async function deleteOneList(controlUrl: string, folder: string): Promise<string | undefined> {
  if ((await deletedList(folder)) !== undefined) return undefined;
  const answer = await fetch(`${controlUrl}/truth?collection=lists`);
  const [first = ''] = (await answer.text()).split('\n');
  const { list_id: id } = JSON.parse(first) as { list_id: number };
  await writeFile(join(folder, DELETED_LIST), `${id}\n`);
  await deleteList(controlUrl, String(id));
  return String(id);
}

/** Sends what a stranger might: a delivery with a false signature. */
export async function sendForgery(webhookUrl: string): Promise<void> {
  const answer = await fetch(webhookUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-signature': `sha256=${'0'.repeat(64)}` },
    body: '{"id":"evt_forged","type":"research.completed","data":{"job_id":1}}',
  });
  await answer.arrayBuffer();
}

async function deletedList(folder: string): Promise<string | undefined> {
  try {
    return (await readFile(join(folder, DELETED_LIST), 'utf8')).trim();
  } catch {
    return undefined;
  }
}

async function deleteList(controlUrl: string, id: string): Promise<void> {
  await mutate(controlUrl, { op: 'delete', collection: 'lists', id });
}

async function mutate(controlUrl: string, mutation: Readonly<Record<string, string>>): Promise<void> {
  const answer = await fetch(`${controlUrl}/mutations`, { method: 'POST', body: JSON.stringify([mutation]) });
  await answer.arrayBuffer();
}
