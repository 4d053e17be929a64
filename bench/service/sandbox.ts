import { Agent, get } from 'node:http';
import { spawnTestSandbox } from '../../test/support/processes/spawn-sandbox.ts';

// How fast the sandbox serves full walks, and whether depth and size cost anything. The sandbox runs in a process of
// its own; bodies are read and thrown away but for the last ID, so that the reader is not what is measured.
// Run: node bench/service/sandbox.ts

const JOBS = 10_000_000;
const PAGES = 600;
const LIMIT = 500;

const sandbox = await spawnTestSandbox({ jobs: JOBS, limits: 'off' });
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

try {
  const first = await topId();
  for (const [name, start] of [
    ['from the top', undefined],
    ['from the middle', Math.floor(first / 2)],
    ['near the end', 4 * PAGES * LIMIT * 2],
  ] as const) {
    await walk(start, 50);
    const { items, bytes, seconds } = await walk(start, PAGES);
    process.stdout.write(
      `${name}: ${Math.round(items / seconds)} items/s, ${Math.round(bytes / seconds / 1e6)} MB/s, ` +
        `${Math.round(bytes / items)} bytes an item, ${((seconds * 1000) / PAGES).toFixed(2)} ms a page\n`,
    );
  }
} finally {
  agent.destroy();
  await sandbox.stop();
}

async function topId(): Promise<number> {
  return lastIdOf(await page(undefined, 1));
}

async function walk(
  start: number | undefined,
  pages: number,
): Promise<{ items: number; bytes: number; seconds: number }> {
  let [items, bytes, cursor] = [0, 0, start];
  const begun = performance.now();
  for (let count = 0; count < pages; count += 1) {
    const body = await page(cursor, LIMIT);
    items += LIMIT;
    bytes += body.length;
    cursor = lastIdOf(body);
  }
  return { items, bytes, seconds: (performance.now() - begun) / 1000 };
}

/** The last `job_id` of a page, found without parsing it. */
function lastIdOf(body: Buffer): number {
  const at = body.lastIndexOf('{"job_id":') + 10;
  return Number.parseInt(body.toString('latin1', at, at + 20), 10);
}

function page(cursor: number | undefined, limit: number): Promise<Buffer> {
  const after = cursor === undefined ? '' : `&starting_after=${cursor}`;
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${sandbox.key}` };
    get(`${sandbox.url}/v1/research?limit=${limit}${after}`, { agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve(Buffer.concat(chunks)));
    }).on('error', reject);
  });
}
