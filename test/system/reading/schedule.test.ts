import { afterEach, describe, expect, it } from 'vitest';
import { eventually } from '@research-mirror/runtime/testing/eventually';
import { differences } from '../../support/mirror/mirror-truth.ts';
import { createSystem, type System } from '../../support/processes/system.ts';

let system: System;
afterEach(() => system.close());

function idIn(text: string, field: string): string {
  return new RegExp(`"${field}":"?([^",}]+)`).exec(text)?.[1] ?? '';
}

describe('the daemon’s polls, each minute by default', () => {
  it('bring new rows, changed ones, and the items of lists that changed, and read no other list', async () => {
    system = await createSystem({ lists: 10 });
    const { control } = system.sandbox;
    await control.clock({ freeze: true });
    await system.sync(['--full']);
    const walks = async (): Promise<number> =>
      (await system.db.query('select from mirror.sync_log')).rows.length;
    const loaded = await walks();
    // Items only where their list changed; else they have a turn of their own each minute, too.
    const daemon = await system.daemon({ MIRROR_POLL_CRON_LIST_ITEMS: 'never' });
    await eventually('its first polls', async () => (await walks()) >= loaded + 5 + 10);
    const last = (await control.log()).at(-1)?.number ?? 0;

    // The list rows' updated_at follows their items, with the moment of the data.
    await control.clock({ advanceMs: 5_000 });
    const [job = ''] = await control.truth({ collection: 'research_jobs' });
    const [list = ''] = await control.truth({ collection: 'lists' });
    const ofList = { collection: 'list_items', list: idIn(list, 'list_id') } as const;
    const [item = ''] = await control.truth(ofList);
    await control.mutate(
      { op: 'insert', collection: 'research_jobs', fields: { status: 'queued' } },
      { op: 'update', collection: 'research_jobs', id: idIn(job, 'job_id'), fields: { status: 'failed' } },
      { op: 'insert', collection: 'watchlist', fields: { company_url: 'https://new.example' } },
      { op: 'insert', ...ofList, fields: { company_name: 'New Ltd' } },
      { op: 'update', ...ofList, id: idIn(item, 'id'), fields: { score: 1 } },
    );
    const equal = async (): Promise<boolean> => (await differences(system)).length === 0;
    await eventually('the mirror to be equal again', equal);
    const paths = (await control.log(last)).map(({ path }) => path.split('?')[0] ?? '');
    expect(new Set(paths.filter((path) => path.startsWith('/v1/lists/')))).toEqual(
      new Set([`/v1/lists/${ofList.list}`]),
    );
    expect(await daemon.stop()).toMatchObject({ code: 0 });
  });
});
