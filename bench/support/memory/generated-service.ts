/**
 * A service with one account whose research jobs are computed from their number, so that ten million take no memory
 * and next to no processor time: a process of its own, started with the number of jobs, their order
 * and a port (0: any). It knows
 * `/v1/ping` and `/v1/research`, and no limits.
 */
import { createServer } from 'node:http';
import { Permutation } from '@research-mirror/sandbox/world/permutation';
import { ITEM_HEAD, ITEM_MIDDLE, ITEM_TAIL } from './generated-items.ts';

const count = Number(process.argv[2]);
const shuffled = process.argv[3] === 'unordered';
const permutation = new Permutation(count);

/** IDs run from 1 to the number of jobs; `place` from 0. */
function idAt(place: number): number {
  return shuffled ? permutation.itemAt(place) + 1 : count - place;
}

function placeOf(id: number): number {
  return shuffled ? permutation.firstTurnOf(id - 1) : count - id;
}

function page(after: string | null, limit: number): string {
  const begin = after === null ? 0 : placeOf(Number(after)) + 1;
  const end = Math.min(count, begin + limit);
  let items = '';
  for (let place = begin; place < end; place += 1) {
    const id = idAt(place);
    items += `${place === begin ? '' : ','}${ITEM_HEAD}${id}${ITEM_MIDDLE}${id}${ITEM_TAIL}`;
  }
  return `{"object":"list","data":[${items}],"has_more":${end < count}}`;
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service');
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('X-RateLimit-Limit', '1000000');
  if (pathname === '/v1/ping') response.end('{"object":"ping","status":"ok","user_id":42}');
  else if (pathname === '/v1/research') {
    response.end(page(searchParams.get('starting_after'), Number(searchParams.get('limit') ?? 100)));
  } else {
    response.statusCode = 404;
    response.end('{"error":{"message":"not found"}}');
  }
});
server.listen(Number(process.argv[4]), '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`);
});
// The bench is gone.
process.stdin.on('end', () => process.exit(0)).resume();
