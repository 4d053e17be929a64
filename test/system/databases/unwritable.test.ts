import { execFileSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import type { Problem } from '../../../src/status/problem.ts';
import type { StatusReport } from '../../../src/status/status-report.ts';
import { createSite, type Site, urlAt } from '../../support/databases/cluster.ts';
import { examine, settingOf } from '../../support/processes/doctor.ts';
import { createSystem, type Daemon, type System } from '../../support/processes/system.ts';
import { ask } from '../../support/postgres/on-connection.ts';

let system: System;
let daemon: Daemon;

async function ready(): Promise<{ status: number; body: string }> {
  const answer = await fetch(`${daemon.statusUrl}/readyz`);
  return { status: answer.status, body: await answer.text() };
}

const doctor = () => examine(settingOf(system));

async function problems(): Promise<readonly Problem[]> {
  const { stdout } = await system.run(['status', '--json']);
  return (JSON.parse(stdout) as StatusReport).problems;
}

/** New jobs, which the daemon reads. @returns how `sync` ends */
async function read(jobs = 5): Promise<number | null> {
  const insert = { op: 'insert', collection: 'research_jobs', fields: { company: 'new' } } as const;
  await system.sandbox.control.mutate(...Array.from({ length: jobs }, () => insert));
  return (await system.run(['sync', 'research_jobs'])).code;
}

/** A disk of its own that root can mount, with a database in it; undefined: this user can't. */
function smallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'research-mirror-disk-'));
  try {
    execFileSync('/bin/mount', ['-t', 'tmpfs', '-o', 'size=80m', 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    process.stderr.write('tmpfs can be mounted by root on Linux only; NOT TESTED: a full disk\n');
    return undefined;
  }
}

const disk = smallDisk();

describe.runIf(disk !== undefined)('a full disk', () => {
  const folder = disk ?? '';
  let site: Site;
  afterAll(async () => {
    await system.close();
    await site.remove();
    execFileSync('/bin/umount', [folder]);
    rmSync(folder, { recursive: true });
  });
  beforeAll(async () => {
    site = await createSite();
    const cluster = await site.cluster();
    // A server of its own: a vacuum of catalogs takes PostgreSQL's file of them away, on the run's server also that of
    // others, and without room to write it anew nobody is let in.
    await cluster.start({ autovacuum: 'off' });
    const { uid, gid } = statSync(cluster.location.pgData);
    chownSync(folder, uid, gid);
    const place = `create tablespace small location '${folder}'`;
    await ask(cluster.url, place, 'create database small tablespace small');
    system = await createSystem({}, { url: urlAt(cluster.port, 'small'), drop: () => cluster.stop() });
    await system.sync();
  });
  it('is not ready, though heartbeats go on, until there is room again; page and doctor say the one cause', async () => {
    expect(() => {
      for (;;) appendFileSync(join(folder, 'filler'), Buffer.alloc(8_192));
    }).toThrow('ENOSPC');
    // Room for rows of some bytes, as a start and heartbeats write them, wherever their pages are full; not for a page.
    const filler = join(folder, 'filler');
    truncateSync(filler, statSync(filler).size - 65_536);
    // Nothing was refused yet: the trial of the start finds it out.
    daemon = await system.daemon();
    await eventually('the trial', () => daemon.output().includes('not ready: '));
    expect((await ready()).body).toContain('53100');
    expect(await read(400)).not.toBe(0);
    const beaten = (): Promise<Date> => system.one('select max(alive_until) from mirror_sync.process');
    const before = await beaten();
    await eventually('not to be ready', async () => {
      const { status, body } = await ready();
      return status === 503 && body.includes('53100') && body.includes('Free space');
    });
    await eventually('three more heartbeats', async () => (await beaten()).getTime() > before.getTime() + 12_000);
    expect((await ready()).status).toBe(503);
    const report = (await (await fetch(`${daemon.statusUrl}/api/status`)).json()) as StatusReport;
    expect(report.problems).toMatchObject([{ cause: 'database_unready' }]);
    const metrics = await (await fetch(`${daemon.statusUrl}/metrics`)).text();
    expect(metrics).toMatch(/^research_mirror_ready 0$/m);
    expect(metrics).toMatch(/^research_mirror_problems\{cause="collection_failing"\} 0$/m);
    // What another process knows of it is what could still be stored: nothing, or that a collection failed.
    expect((await problems()).filter(({ cause }) => cause === 'collection_failing')).toEqual([]);
    const examined = await doctor();
    expect(examined.code).toBe(1);
    expect(examined.the('writable').found).toContain('53100');
    expect(daemon.output().match(/not ready: /g)).toHaveLength(1);

    rmSync(join(folder, 'filler'));
    await eventually('to be ready again', async () => (await ready()).status === 200);
    expect(daemon.output()).toContain('ready: the database takes writes again');
    expect(await read()).toBe(0);
    expect(await problems()).toEqual([]);
    expect(await doctor()).toMatchObject({ code: 0 });
  });
});
