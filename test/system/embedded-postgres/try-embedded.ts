import { startEmbedded } from '@research-mirror/embedded-postgres/start';
import { systemClock } from '@research-mirror/runtime/clock';

/**
 * A program of its own beside the tests, for what needs a second process: starts the embedded server of the folder
 * in argv, prints one line of JSON, and stops it at SIGTERM or when its standard input ends.
 */
const [dataDir = '', port = 'free'] = process.argv.slice(2);
try {
  const server = await startEmbedded({
    dataDir,
    port: port === 'free' ? 'free' : Number(port),
    program: 'research-mirror test program',
    log: { info: () => {}, warn: () => {} },
    clock: systemClock,
    durable: false,
  });
  process.stdout.write(`${JSON.stringify({ url: server.url, owned: server.owned, port: server.port })}\n`);
  await new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.stdin.once('end', resolve).resume();
  });
  process.stdin.destroy();
  await server.stop();
} catch (error) {
  process.stdout.write(`${JSON.stringify({ error: (error as Error).message })}\n`);
  process.exitCode = 1;
}
