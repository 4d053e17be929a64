import { expect, it } from 'vitest';
import { ReadingTurns } from './reading-turns.ts';

it('polls before their lines’ runs are told that others need requests while a full walk, a second reading or a verification goes on, not while another poll does', async () => {
  const turns = new ReadingTurns();
  const seen = async (): Promise<boolean> => turns.readsBelowPolls();
  expect(await turns.run('research_jobs', 'poll', seen)).toBe(false);
  expect(await turns.run('list_items', 'full', seen)).toBe(true);
  expect(await turns.walk('research_jobs', seen)).toBe(true);
  expect(await turns.run('research_jobs', 'suspects', seen)).toBe(true);
  expect(await turns.belowPolls(seen)).toBe(true);
  expect(turns.readsBelowPolls()).toBe(false);
});

it('polls before their lines’ runs are told that others need requests until the last of them has ended, also where one fails', async () => {
  const turns = new ReadingTurns();
  const walk = Promise.withResolvers<void>();
  const walking = turns.walk('research_jobs', () => walk.promise);
  await expect(turns.belowPolls(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(turns.readsBelowPolls()).toBe(true);
  walk.resolve();
  await walking;
  expect(turns.readsBelowPolls()).toBe(false);
});
