import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { type Stage, withClient } from '../support/stage.ts';
import { added, level, standing } from './database-cost.ts';
import { serviceOptions, steps, type Step } from './load.ts';
import type { Peer, PreparedPeer } from './peer.ts';
import { runMeasured, type Taken } from './processes.ts';
import { compareRows, type RowDifference } from './row-for-row.ts';

/** What a step cost. */
export interface StepCost extends Taken {
  readonly step: string;
  /** NaN where the server is not on this machine. */
  readonly serverSeconds: number;
  readonly walBytes: number;
  /** In all tables of the database. */
  readonly deadTuples: number;
  /** Versions of jobs that were written or deleted. */
  readonly rowsWritten: number;
  readonly tableBytes: number;
  readonly requests: number;
  readonly difference: RowDifference;
}

/** A peer's way through all steps; `failure`: why it did not get to their end. */
export interface Measured {
  readonly peer: Peer;
  readonly rows: number;
  readonly versions: string;
  readonly steps: readonly StepCost[];
  readonly failure?: string;
}

/** Takes a peer through all steps: a service and a database of its own, a fresh process for each step. */
export async function measurePeer(stage: Stage, peer: Peer, prepared: PreparedPeer, wanted: number): Promise<Measured> {
  const rows = Math.min(wanted, peer.mostRows ?? wanted);
  const sandbox = await stage.sandbox(serviceOptions(rows));
  // Nothing changes by itself, so that there is one truth.
  await sandbox.control.clock({ freeze: true });
  const databaseUrl = await stage.database();
  const state = await mkdtemp(join(stage.folder, `${peer.name}-`));
  const costs: StepCost[] = [];
  const measured = { peer, rows, versions: prepared.versions, steps: costs };
  const run = async (client: pg.Client, step: Step): Promise<StepCost> => {
    await step.change(sandbox);
    await level(client);
    await sandbox.control.resetCounters();
    const before = await standing(client);
    const taken = await runMeasured(
      prepared.command({
        mode: step.mode,
        serviceUrl: sandbox.url,
        key: sandbox.key,
        databaseUrl,
        state,
      }),
      state,
    );
    const after = await standing(client);
    const { requests } = await sandbox.control.counters();
    const truth = await sandbox.control.truth({ collection: 'research_jobs' });
    return {
      ...taken,
      step: step.name,
      serverSeconds: after.cpuSeconds - before.cpuSeconds,
      walBytes: after.walBytes - before.walBytes,
      deadTuples: added(before.dead, after.dead),
      rowsWritten: added(before.written, after.written, await tableId(client, peer)),
      tableBytes: after.bytes,
      requests,
      difference: await compareRows(client, peer, truth),
    };
  };
  try {
    await withClient(databaseUrl, async (client) => {
      for (const step of steps(rows)) {
        const cost = await run(client, step);
        costs.push(cost);
        process.stderr.write(`${peer.title}, ${cost.step}: ${cost.seconds.toFixed(1)} s\n`);
      }
    });
    return measured;
  } catch (error) {
    // The others are measured all the same.
    process.stderr.write(`${peer.title} FAILED: ${(error as Error).message}\n`);
    return { ...measured, failure: (error as Error).message };
  } finally {
    await sandbox.stop();
  }
}

async function tableId(client: pg.Client, { table }: Peer): Promise<string> {
  const { rows } = await client.query<{ id: string }>(
    `select format('%I.%I', $1::text, $2::text)::regclass::oid::text as id`,
    [...table],
  );
  return rows[0]?.id ?? '';
}
