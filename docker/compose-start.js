// What the compose file's service "mirror" runs: the daemon, on the configured account; where none is, on the
// emulated service, if `--profile sandbox` added it. A compose file can't ask which profiles are on, so it sets the
// emulated service's address and key where nothing is configured, and here they are kept or taken back.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** The values that docker-compose.yml falls back to. */
const STAND_INS = { MIRROR_API_URL: 'http://127.0.0.1:8090', MIRROR_API_KEY: 'sandbox-key' };
/** The emulated service in the compose file's network. */
const SANDBOX = { host: 'research-mirror-sandbox', port: 8090 };
/** Its container starts beside this one, if it does. Milliseconds. */
const PATIENCE = 5000;
const SIGNALS = ['SIGTERM', 'SIGINT'];

const names = Object.keys(STAND_INS);
const unset = names.filter((name) => process.env[name] === STAND_INS[name]);
// Process 1 of a container: nothing but a listener ends it. The program brings its own.
const end = () => process.exit(0);
for (const signal of SIGNALS) process.on(signal, end);
if (unset.length === names.length && (await sandboxAnswers())) {
  await forwardToSandbox();
} else {
  if (unset.length === names.length) {
    process.stderr.write(
      'No account is configured. Set MIRROR_API_URL and MIRROR_API_KEY in the environment or in .env beside\n' +
        'docker-compose.yml; or see it work without an account: docker compose --profile sandbox up\n',
    );
  }
  // Never a made-up key to a real service, nor a real key to the emulated one: the program says what is missing.
  for (const name of unset) delete process.env[name];
}
for (const signal of SIGNALS) process.off(signal, end);
await import('../bin/research-mirror.js');

async function sandboxAnswers() {
  for (const until = performance.now() + PATIENCE; performance.now() < until; await sleep(250)) {
    if (await accepts(SANDBOX)) return true;
  }
  return false;
}

async function accepts(address) {
  const socket = connect(address);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(1000) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/**
 * Makes the emulated service answer on this container's loopback: the program sends a key over http:// to no other
 * address.
 */
async function forwardToSandbox() {
  const { hostname, port } = new URL(STAND_INS.MIRROR_API_URL);
  const server = createServer((near) => {
    pipeline(near, connect(SANDBOX), near, () => {
      // Either end went away: the other one is closed with it, and the daemon sees an unreachable service.
    });
  });
  server.listen(Number(port), hostname);
  await once(server, 'listening');
}
