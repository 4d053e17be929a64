import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';

/**
 * A program of its own beside the tests, for what needs a second process: starts the embedded server of the folder
 * in argv, prints one line of JSON, and stops it at SIGTERM or when its standard input ends.
 */
const server = await startEmbedded({
  dataDir: process.argv[2] ?? '',
  port: 'free',
  program: 'research-mirror test program',
  log: { info: () => {}, warn: () => {} },
  clock: systemClock,
  durable: false,
});
process.stdout.write(`${JSON.stringify({ url: server.url, owned: server.owned })}\n`);
await new Promise((resolve) => {
  process.once('SIGTERM', resolve);
  process.stdin.once('end', resolve).resume();
});
process.stdin.destroy();
await server.stop();
