import { startSandbox } from '@research-mirror/sandbox/start-sandbox';
import type { SandboxOptions } from '@research-mirror/sandbox/switches/sandbox-switches';

// A sandbox in a process of its own: options as JSON in the first argument; one line of JSON says where it listens.
const options = JSON.parse(process.argv[2] ?? '{}') as Partial<SandboxOptions>;
const { url, controlUrl, stop } = await startSandbox(options);
process.stdout.write(`${JSON.stringify({ url, controlUrl })}\n`);
process.once('SIGTERM', () => {
  void stop().then(() => process.stdin.destroy());
});
// The parent is gone, however it ended: nothing is left behind.
process.stdin.resume().once('end', () => {
  void stop();
});
