import { execFileSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createSystem, type Environment, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

/** The embedded Postgres of a folder of its own. */
function embedded(name: string): Environment {
  return {
    DATABASE_URL: undefined,
    MIRROR_DATA_DIR: join(system.cwd, name),
    MIRROR_PG_PORT: '0',
  };
}

async function asked(env: Environment, query: string): Promise<unknown> {
  const { code, stdout, stderr } = await system.run(['sql', '--json', query], env);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

describe('dump and restore', () => {
  it('move a mirror to the embedded Postgres, where it goes on, and sends nothing before it may', async () => {
    system = await createSystem();
    await system.sandbox.control.clock({ freeze: true });
    await system.sync(['--full']);
    await system.db.query(`select mirror.submit('research', '{"company_url": "https://a.example"}')`);
    const file = join(system.cwd, 'mirror.dump');
    const dumped = await system.run(['dump', '-o', file, '--json']);
    expect(dumped).toMatchObject({ code: 0 });
    expect(JSON.parse(dumped.stdout)).toMatchObject({
      file,
      tables: { 'mirror.research_jobs': 300 },
      leftOut: [],
    });

    const here = embedded('moved');
    const restored = await system.run(['restore', file], here);
    expect(restored).toMatchObject({ code: 0 });
    expect(restored.stdout).toContain('submissions release');
    expect(await asked(here, 'select state from submissions')).toEqual([{ state: 'held' }]);
    expect(await system.run(['restore', file], here)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is a mirror in schema "mirror" already') as string,
    });

    await system.sync(['--full'], { env: here });
    expect(await system.run(['verify'], here)).toMatchObject({ code: 0 });
    expect(
      await asked(
        here,
        'select inserted, updated from sync_log where started_at > (select max(detected_at) from recoveries) and inserted + updated > 0',
      ),
    ).toEqual([]);
    expect(await system.sandbox.control.operations()).toEqual([]);
    expect(await system.run(['submissions', 'release'], here)).toMatchObject({ code: 0 });
    const daemon = await system.daemon(here);
    await eventually(
      'what was queued to be sent',
      async () => (await system.sandbox.control.operations()).length === 1,
    );
    await daemon.stop();
  });

  it('leave nothing behind where restore is killed half-way, and it can be done again', async () => {
    system = await createSystem();
    await system.sync(['--full']);
    const file = join(system.cwd, 'mirror.dump');
    expect(await system.run(['dump', '-o', file])).toMatchObject({ code: 0 });

    const here = embedded('killed');
    const pipe = join(system.cwd, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const restore = system.begin(['restore', pipe], here);
    const writer = createWriteStream(pipe);
    const bytes = await readFile(file);
    // All but the end: it waits for that, with every table in its transaction.
    writer.write(bytes.subarray(0, bytes.length - 10));
    await restore.until('mirror.');
    restore.child.kill('SIGKILL');
    expect(await restore.ended).toMatchObject({ signal: 'SIGKILL' });
    writer.destroy();

    expect(await system.run(['sql', 'select 1 from freshness'], here)).toMatchObject({ code: 1 });
    expect(await system.run(['restore', file], here)).toMatchObject({ code: 0 });
    expect(await asked(here, 'select count(*)::int as n from research_jobs')).toEqual([{ n: 300 }]);
  });

  it('say what is wrong with a file, a place or a login', async () => {
    system = await createSystem();
    await writeFile(join(system.cwd, 'notes.txt'), 'no dump');
    const wrong = new URL(system.databaseUrl);
    wrong.username = 'nobody_here';
    const cases: readonly (readonly [readonly string[], Environment, number, RegExp])[] = [
      [['dump'], {}, 2, /required option '-o, --output <file>'/],
      [['dump', '-o', join(system.cwd, 'no/such/folder')], {}, 2, /--output: .* can’t be written/],
      [['dump', '-o', 'x'], { DATABASE_URL: wrong.href }, 3, /check user and password/],
      [['restore', 'missing.dump'], {}, 2, /"missing\.dump" can’t be read/],
      [['restore', 'notes.txt'], {}, 1, /notes\.txt: it is no dump of research-mirror/],
    ];
    for (const [args, env, code, message] of cases) {
      expect(await system.run(args, env), `of ${args.join(' ')}`).toMatchObject({
        code,
        stdout: '',
        stderr: expect.stringMatching(message) as string,
      });
    }
  });
});
