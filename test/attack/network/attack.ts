import { systemClock } from '@research-mirror/runtime/clock';
import { RealAccount } from '../real/real-account.ts';
import { type Attack, type GameResult, whileRoundsLast } from '../support/attack.ts';
import type { Draw } from '../support/draw.ts';
import { openTable, playOnServer } from '../support/server.ts';
import { type Proxy, startProxy, type Weather } from '../../support/network/proxy.ts';

const LANES = 3;
/** Readings by `sync` in bad weather, in one game. */
const READINGS = 4;

export const networkAttack: Attack = {
  name: 'network',
  what: 'connections to the service and to Postgres reset, truncated, slowed, stalled and refused, by proxies',
  run: (options) => playOnServer(options, { lanes: LANES, more: whileRoundsLast(options.size), play: playNetwork }),
};

/** Readings and a daemon's life through proxies that spoil connections; then good weather, and everything compared. */
async function playNetwork(seed: number, url: string): Promise<GameResult> {
  const table = await openTable(url);
  const account = await RealAccount.open(seed, { maxLimit: 25 });
  const { draw } = account;
  const service = await startProxy(Number(new URL(account.source.url).port));
  const postgres = await startProxy(Number(new URL(url).port));
  const through = new URL(url);
  through.port = String(postgres.port);
  const env = { MIRROR_API_URL: `http://127.0.0.1:${service.port}` };
  try {
    for (let reading = 0; reading < READINGS; reading += 1) {
      service.weather = () => badWeather(draw, account);
      postgres.weather = () => (draw.chance(0.5) ? badWeather(draw, account) : {});
      const before = account.requests();
      account.act(true);
      await account.scheduleFullWalks(table.db);
      const program = account.begin(draw.chance(0.5) ? ['start'] : ['sync', '--full'], through.href, env);
      const over = new AbortController();
      void program.ended.finally(() => over.abort());
      for (let blows = draw.integer(2, 6); blows > 0 && !over.signal.aborted; blows -= 1) {
        await systemClock.sleep(draw.random() * 1_200, over.signal).catch(() => {});
        await blow(draw, account, draw.chance(0.5) ? service : postgres);
      }
      program.child.kill('SIGTERM');
      const stopping = performance.now();
      const { code, signal, stderr } = await program.ended;
      const took = performance.now() - stopping;
      account.tell(`reading ${reading}: ended with ${code ?? signal}, ${stderr.slice(-300)}`);
      // A signal that comes before the program has begun to listen for it ends it as it ends any other.
      const early = signal === 'SIGTERM' && account.requests() === before;
      const legal = early || [0, 1, 3, 130].includes(code ?? -1);
      account.claim(legal, `ended with ${code ?? signal} in bad weather: ${stderr.slice(-300)}`);
      account.claim(took < 15_000, `took ${Math.round(took / 1000)} s to stop in bad weather`);
      account.count('readings in bad weather');
      account.count(`ended with ${code ?? signal}`);
      account.act(false);
    }
    service.weather = () => ({});
    service.refuse(false);
    // At the address at which the mirror knows its service.
    await account.endWell(table.db, url, env);
    return account.outcome();
  } finally {
    await account.close();
    await Promise.all([service.close(), postgres.close()]);
    await table.close();
  }
}

function badWeather(draw: Draw, account: RealAccount): Weather {
  const kind = draw.weighted({ fine: 3, cut: 2, reset: 2, slow: 2, stall: 0.5 });
  account.count(`connections ${kind}`);
  const bytes = Math.floor(draw.random() ** 2 * 60_000);
  if (kind === 'cut' || kind === 'reset') return { cutAfter: bytes, cut: kind === 'cut' ? 'end' : 'reset' };
  if (kind === 'slow') return { delayMs: draw.integer(1, 40) };
  return kind === 'stall' ? { stallAfter: bytes } : {};
}

/** Something that befalls all connections at once. */
async function blow(draw: Draw, account: RealAccount, proxy: Proxy): Promise<void> {
  if (draw.chance(0.6)) {
    if (proxy.reset() > 0) account.count('resets of all connections');
    return;
  }
  proxy.refuse(true);
  proxy.reset();
  account.count('times away');
  await systemClock.sleep(draw.random() * 800);
  proxy.refuse(false);
}
