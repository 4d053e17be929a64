import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { makeFolder } from '../support/processes/program.ts';
import { composeProject, type ComposeProject } from './compose.ts';

const KEY = 'rk_live_in_a_file_only';

describe('docker compose up, with the key in a file', () => {
  const folder = makeFolder();
  const file = join(folder.path, 'api-key');
  let project: ComposeProject;

  beforeAll(async () => {
    chmodSync(folder.path, 0o755);
    writeFileSync(file, `${KEY}\n`, { mode: 0o644 });
    // A service that nobody answers for: the daemon starts, and tries the key.
    const env = { MIRROR_API_URL: 'https://127.0.0.1:9/v1', MIRROR_API_KEY_FILE: file };
    project = await composeProject(env, 'docker-compose.secrets.yml');
    await project.compose('up', '--detach', '--build', 'mirror');
  });

  afterAll(async () => {
    await project.compose('down', '--volumes');
    folder.remove();
  });

  it('the daemon has the key, and tries it', async () => {
    expect((await project.compose('exec', '-T', 'mirror', 'cat', '/run/secrets/api-key')).trim()).toBe(KEY);
    const log = await eventually('a request to the service', async () => {
      const text = await project.compose('logs', 'mirror');
      return text.includes('127.0.0.1:9') && text;
    });
    expect(log).not.toContain('MIRROR_API_KEY');
    expect(log).not.toContain(KEY);
  });

  it('nobody reads it in what docker tells', async () => {
    for (const service of ['mirror', 'postgres']) expect(await project.inspect(service)).not.toContain(KEY);
    expect(await project.compose('config')).not.toContain(KEY);
    expect(await project.compose('ps')).not.toContain(KEY);
  });
});
