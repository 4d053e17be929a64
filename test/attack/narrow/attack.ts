import { openDatabase } from '../../../src/postgres/pool.ts';
import { startProxy } from '../../support/network/proxy.ts';
import { type Attack, type GameResult, playGames } from '../support/attack.ts';
import { Draw } from '../support/draw.ts';
import { drawRefusedGame, drawShortGame, makeRefusals } from '../refusals/attack.ts';
import { play, type Table } from '../walks/game/play.ts';
import { type Tables, withTables } from '../walks/game/tables.ts';

const GAMES = 200;
const FIRST_USER = 4_000_000;

export const narrowAttack: Attack = {
  name: 'narrow',
  what: 'random walks over a narrow, slow way to the database, in half of the games while it refuses rows',
  run: (options) =>
    withTables(async (tables) => {
      await makeRefusals(tables);
      return playGames(options, {
        more: (begun) => begun < GAMES,
        play: (seed, index) => playNarrow(tables, seed, FIRST_USER + index),
      });
    }),
};

/** A walk's game, of which the program reaches its database by a proxy of its own; the checks do not. */
export async function playNarrow(tables: Tables, seed: number, user: number): Promise<GameResult> {
  const draw = new Draw(seed ^ 0x1b873593);
  const game = draw.chance(0.5) ? drawRefusedGame(seed) : drawShortGame(seed);
  const { db, database } = tables.of(game);
  const roundTripMs = draw.one([0, 5, 20, 60]);
  const kilobytes = draw.one([40, 100, 400]);
  const proxy = await startProxy(Number(new URL(database.url).port));
  proxy.weather = () => ({ delayMs: roundTripMs / 2, bytesPerSecond: kilobytes * 1024 });
  const far = await openDatabase({
    url: Object.assign(new URL(database.url), { host: `127.0.0.1:${proxy.port}` }).href,
    schema: database.db.schema,
    program: 'research-mirror attack',
    max: 8,
  });
  const table: Table = { db, database: { ...far, url: database.url } };
  try {
    const result = await play(table, game, user);
    const what = `${result.what}; ${roundTripMs} ms and ${kilobytes} KB/s to the database`;
    return { ...result, what, counts: { ...result.counts, [`games at ${roundTripMs} ms`]: 1 } };
  } finally {
    await far.close();
    await proxy.close();
  }
}
