import { expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { createFrozenSystem } from '../../support/processes/system.ts';

it('a second pass without a daemon ends with 3 and says who holds the account', async () => {
  const system = await createFrozenSystem({ latencyMin: 1_000, latencyMax: 1_000 });
  try {
    const first = system.begin(['sync', '--full']);
    await eventually('its first page', async () => (await system.sandbox.control.counters()).requests > 2);
    const { code, stdout } = await system.run(['sync']);
    expect(code).toBe(3);
    expect(stdout).toContain(`account 1001 is held by "research-mirror sync" (process ${first.child.pid})`);
    expect((await first.ended).code).toBe(0);
  } finally {
    await system.close();
  }
});
