import type pg from 'pg';
import { PRIORITY } from '../../../src/budget/priorities.ts';
import type { Database } from '../../../src/db/database.ts';
import { KeyRefused } from '../../../src/model/errors.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { messageOf } from '../../../src/runtime/message.ts';
import { Stopped } from '../../../src/runtime/service.ts';
import { differences } from '../../support/mirror-truth.ts';
import { Draw } from '../support/draw.ts';
import type { Finding, GameResult } from '../support/findings.ts';
import { removeAccount } from './cleaning.ts';
import { checkDeletions } from './deletions.ts';
import { describeGame, type Game } from './game.ts';
import { checkFreshness, openDeletions } from './freshness.ts';
import { checkReplay, checkVersions, type Snapshot, takeSnapshot } from './history.ts';
import { type MirrorAccount, openMirrorAccount } from './mirror-account.ts';
import { type ListName, listNames } from './mirrored.ts';
import { Operator } from './operator.ts';
import { openSource, type Source } from './source.ts';
import { TruthLog } from './truth-log.ts';
import { WatermarkReader } from './watermark.ts';

/** Where games are played: one database for many accounts at a time. */
export interface Table {
  readonly database: Database & { readonly url: string; readonly schema: string };
  readonly db: pg.Pool;
}

/** Full readings after the quiet: design 4 promises one, and a second where only P2 can prove. */
const READINGS = 2;
/** What a request has to wait for in one reading, at most, ms: then the game is broken off. */
const PATIENCE_MS = 180_000;

/**
 * Plays one game: walks and polls of a small account while things happen in the source between and during their
 * requests; then quiet, full readings, and every check.
 */
export async function play(table: Table, game: Game, userId: number): Promise<GameResult> {
  const key = `attack-${userId}`;
  const source = await openSource({ ...game.switches, keys: `${key}=${userId}` });
  const run = new Run(table, game, source, String(userId));
  try {
    return await run.play(key);
  } finally {
    await source.stop();
  }
}

class Run {
  readonly #table: Table;
  readonly #game: Game;
  readonly #source: Source;
  readonly #user: string;
  readonly #draw: Draw;
  readonly #log = new TruthLog();
  readonly #operator: Operator;
  readonly #names: ListName[];
  readonly #trace: string[] = [];
  readonly #findings: Finding[] = [];
  readonly #snapshots: Snapshot[] = [];
  readonly #counts: Record<string, number> = { games: 1, walks: 0 };
  readonly #follower: WatermarkReader;

  constructor(table: Table, game: Game, source: Source, user: string) {
    this.#table = table;
    this.#game = game;
    this.#source = source;
    this.#user = user;
    this.#draw = new Draw(game.seed ^ 0x2545f491);
    this.#operator = new Operator(source, this.#log, this.#draw, (line) => this.#tell(line));
    this.#names = listNames(game.collections);
    this.#follower = new WatermarkReader(table.db, user, this.#names, game.history);
  }

  async play(key: string): Promise<GameResult> {
    const { settleMs, deletes, history, collections } = this.#game;
    for (const name of this.#names) {
      if (name !== 'list_items') this.#operator.watch({ collection: name, list: '' });
    }
    const account = await openMirrorAccount({
      database: this.#table.database,
      source: this.#source,
      key,
      userId: this.#user,
      settings: { settleMs, deletes, history: history ? { kept: true, forMs: undefined } : { kept: false } },
      tell: (line) => this.#tell(line),
      observer: {
        walkEnded: ({ kind, outcome, pages, error }) => {
          this.#counts['walks'] = (this.#counts['walks'] ?? 0) + 1;
          this.#counts['pages'] = (this.#counts['pages'] ?? 0) + pages;
          this.#tell(`walk ended: ${kind} ${outcome}, ${pages} pages ${error ?? ''}`);
        },
      },
    });
    this.#source.change({ ...this.#game.faults, staleMs: this.#game.lagMs });
    account.onRequest = (path) => {
      this.#tell(`request ${path}`);
      while (this.#draw.chance(this.#game.busy / 2)) this.#operator.act();
      // Into the request, or while its page is written.
      if (this.#draw.chance(this.#game.busy)) setTimeout(() => this.#act(), this.#draw.random() * 6);
    };
    try {
      for (let round = 0; round < this.#game.rounds; round += 1) await this.#round(account, round);
      account.onRequest = (path) => this.#tell(`request ${path}`);
      await this.#endWell(account);
      await this.#check(account);
      if (this.#findings.length === 0) await removeAccount(this.#table.db, this.#user);
    } catch (error) {
      this.#findings.push({
        kind: 'claim',
        text: `the game broke off: ${(error as Error).stack ?? messageOf(error)}`,
      });
    } finally {
      this.#quiet = true;
      await account.close();
    }
    const { seed } = this.#game;
    const { byFault } = this.#source.state.traffic.counters();
    const own = { operations: this.#operator.count, requests: account.requests };
    const counts = { ...this.#counts, ...own, ...byFault };
    const what = `${describeGame(this.#game)}; user ${this.#user}, ${collections.length} collections`;
    return { seed, what, findings: this.#findings, counts, trace: this.#trace };
  }

  #quiet = false;

  #act(): void {
    if (!this.#quiet) this.#operator.act();
  }

  /** Reads while the source changes, in one of the ways in which the daemon and its commands do. */
  async #round(account: MirrorAccount, round: number): Promise<void> {
    const how =
      round === 0 ? 'full' : this.#draw.weighted({ full: 4, polls: 4, both: 2, stop: 1.5, takeover: 0.7 });
    this.#tell(`round ${round}: ${how}`);
    const { collections } = this.#game;
    const polls = async (): Promise<void> => {
      for (let times = this.#draw.integer(1, 4); times > 0; times -= 1) await this.#pass(account, 'current');
    };
    if (how === 'full') await this.#pass(account, 'full');
    else if (how === 'polls') await polls();
    else if (how === 'both') await Promise.all([this.#pass(account, 'full'), polls()]);
    else {
      const stop = new AbortController();
      const walk = this.#pass(account, 'full', { signal: stop.signal });
      await systemClock.sleep(this.#draw.random() * 40);
      if (how === 'takeover') await account.takeOver();
      else stop.abort(new Stopped('the pass'));
      await walk;
      if (how === 'stop' && this.#draw.chance(0.5)) await account.reopen();
      this.#count(how);
    }
    for (let more = this.#draw.integer(0, 3); more > 0; more -= 1) this.#operator.act();
    if (this.#game.history && round > 0) {
      this.#snapshots.push(await takeSnapshot(this.#table.db, this.#names, this.#user));
    }
    await this.#checkFreshness();
    if (this.#draw.chance(0.5)) await this.#follower.follow();
    if (this.#draw.chance(0.3)) {
      for (const name of this.#names) {
        const { signal } = new AbortController();
        await account.current.reader
          .settle(name, signal)
          .catch((error: unknown) => this.#tell(messageOf(error)));
      }
    }
    if (this.#draw.chance(0.4)) await systemClock.sleep(this.#game.settleMs * this.#draw.random() * 1.5);
    if (collections.length > 1 && this.#draw.chance(0.2)) await account.reopen();
  }

  /**
   * As `sync` reads: collections side by side, those that hang on others after them. An error is no finding by itself:
   * faults are on, the account may be lost.
   * @returns errors
   */
  async #pass(
    account: MirrorAccount,
    what: 'full' | 'current',
    { accept = false, signal }: { readonly accept?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<string[]> {
    const { reader } = account.current;
    const patience = AbortSignal.timeout(PATIENCE_MS);
    const request = {
      what,
      accept,
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
    };
    const errors: string[] = [];
    let refused = false;
    const read = async (names: readonly ListName[]): Promise<void> => {
      const ended = await Promise.allSettled(names.map((name) => reader.read(name, request)));
      for (const [index, each] of ended.entries()) {
        const error: unknown = each.status === 'rejected' ? each.reason : each.value.error;
        if (error !== undefined) errors.push(`${names[index]}: ${messageOf(error)}`);
        if (error instanceof KeyRefused) refused = true;
      }
    };
    await read(this.#names.filter((name) => name !== 'list_items'));
    await read(this.#names.filter((name) => name === 'list_items'));
    if (refused) await this.#ping(account, patience);
    if (patience.aborted)
      throw new Error(`a reading took more than ${PATIENCE_MS / 1000} s: ${errors.join('; ')}`);
    if (errors.length > 0) this.#tell(`pass ended: ${errors.join('; ')}`);
    return errors;
  }

  /** A stopped account stays stopped until a key is good again: the daemon asks until it is, here once a pass. */
  async #ping({ current }: MirrorAccount, signal: AbortSignal): Promise<void> {
    try {
      await current.source.ping({ priority: PRIORITY.POLL, signal });
      this.#count('keys good again');
    } catch (error) {
      this.#tell(`the key stays refused: ${messageOf(error)}`);
    }
  }

  /** No more operations and no more faults; then the mirror has to become equal to the source. */
  async #endWell(account: MirrorAccount): Promise<void> {
    // Before 'quiet': what was set off during the last requests still comes.
    await systemClock.sleep(10);
    this.#quiet = true;
    const off = Object.fromEntries(
      Object.entries(this.#game.faults)
        .filter(([name, value]) => name.startsWith('fault') && typeof value === 'number')
        .map(([name]) => [name, 0]),
    );
    this.#source.change(off);
    const { settleMs, lagMs } = this.#game;
    await systemClock.sleep(settleMs + lagMs + 5);
    this.#source.state.data.freeze();
    this.#tell('quiet');
    await this.#ping(account, AbortSignal.timeout(PATIENCE_MS));
    let found: string[] = [];
    for (let reading = 1; reading <= READINGS; reading += 1) {
      let errors = await this.#pass(account, 'full');
      if ((await openDeletions(this.#table.db, this.#user)).held > 0) {
        this.#count('brake held');
        errors = await this.#pass(account, 'full', { accept: true });
      }
      const { waiting } = await openDeletions(this.#table.db, this.#user);
      if (waiting > 0) this.#count('full readings after which rows wait for a second proof');
      if (errors.length > 0) this.#count('full readings in quiet that ended with an error');
      found = await differences(this.#truth(), Number(this.#user));
      this.#tell(`reading ${reading}: ${errors.join('; ')} ${found.slice(0, 3).join('; ')}`);
      if (found.length === 0) {
        this.#count(`equal after ${reading}`);
        for (const error of errors)
          this.#findings.push({ kind: 'claim', text: `reading ${reading}: ${error}` });
        return;
      }
      await systemClock.sleep(settleMs + 5);
    }
    const told = found
      .slice(0, 5)
      .map((text) => ({ kind: 'lost' as const, text: `after ${READINGS} readings: ${text}` }));
    this.#findings.push(...told);
  }

  #truth(): Parameters<typeof differences>[0] {
    const { control, url } = this.#source;
    const sandbox = {
      url,
      key: '',
      userId: Number(this.#user),
      controlUrl: '',
      control,
      stop: () => Promise.resolve(),
    };
    return { sandbox, db: this.#table.db };
  }

  async #check(account: MirrorAccount): Promise<void> {
    const { db } = this.#table;
    const { lagMs, settleMs, history, switches } = this.#game;
    const { findings, deletions, beyondP2, toldEmpty } = await checkDeletions(db, this.#names, this.#user, {
      log: this.#log,
      answers: account.answers,
      lagMs,
      slackMs: 0,
      settleMs,
      history,
      byPairs: switches.order !== 'falling' && switches.order !== 'rising',
    });
    this.#findings.push(...findings);
    this.#counts['deletions'] = deletions;
    this.#counts['beyond P2'] = beyondP2;
    if (toldEmpty > 0) this.#counts['told empty'] = toldEmpty;
    if (history) {
      const { findings: twice, versions } = await checkVersions(db, this.#names, this.#user);
      this.#findings.push(...twice, ...(await checkReplay(db, this.#names, this.#user, this.#snapshots)));
      this.#counts['versions'] = versions;
      this.#counts['moments replayed'] = this.#snapshots.length;
    }
    if (history || this.#game.deletes === 'soft') this.#findings.push(...(await this.#follower.check()));
    await this.#checkFreshness();
  }

  async #checkFreshness(): Promise<void> {
    const { lagMs, switches, lies } = this.#game;
    if (lies && !this.#quiet) return;
    const moving = switches.order === 'last-updated' || switches.order === 'score';
    const given = { log: this.#log, lagMs, moving };
    const found = await checkFreshness(this.#table.db, this.#names, this.#user, given);
    for (const { text } of found) this.#tell(text);
    this.#findings.push(...found);
  }

  #count(name: string): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + 1;
  }

  #tell(line: string): void {
    this.#trace.push(`${new Date().toISOString().slice(11, 23)} ${line}`);
  }
}
