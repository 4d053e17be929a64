import type pg from 'pg';
import type { Database } from '../../../../src/postgres/pool.ts';
import { systemClock } from '@research-mirror/runtime/clock';
import { messageOf } from '@research-mirror/runtime/message';
import { Stopped } from '@research-mirror/runtime/service';
import { differences } from '../../../support/mirror/mirror-truth.ts';
import { Draw } from '../../support/draw.ts';
import { GameRecord, type GameResult } from '../../support/attack.ts';
import { checkDeletions } from '../checks/deletions.ts';
import { checkFreshness, openDeletions } from '../checks/freshness.ts';
import { listNames } from '../checks/mirrored.ts';
import { WatermarkReader } from '../checks/watermark.ts';
import { describeGame, faultsOff, type Game } from './game.ts';
import { type MirrorAccount, openMirrorAccount } from '../mirror-account.ts';
import { Operator } from './operator.ts';
import { fillColumns, pass, ping, type PassOptions } from './pass.ts';
import { beginRefusals, checkRefusals, endRefusals } from '../../refusals/triggers.ts';
import { checkReplay, checkVersions, type Snapshot, takeSnapshot } from '../source/history.ts';
import { openSource, type Source } from '../source/source.ts';
import { TruthLog } from '../source/truth-log.ts';

/** Where games are played: one database for many accounts at a time. */
export interface Table {
  readonly database: Database & { readonly url: string };
  readonly db: pg.Pool;
}

/** Full readings after the quiet: docs/design/deletions.md, "Confirming", needs one, and a second where only P2 can prove. */
const READINGS = 2;
/** Each waits a moment for its table. */
const COLUMN_TRIES = 100;

/**
 * Plays one game: walks and polls of a small account while things happen in the source between and during their
 * requests; then quiet, full readings, and every check.
 */
export async function play(table: Table, game: Game, userId: number): Promise<GameResult> {
  const key = `attack-${userId}`;
  const source = await openSource({ ...game.switches, keys: `${key}=${userId}` });
  try {
    return await new Run(table.db, game, source, String(userId)).play(table.database, key);
  } finally {
    await source.stop();
  }
}

class Run {
  readonly #db: pg.Pool;
  readonly #game: Game;
  readonly #source: Source;
  readonly #user: string;
  readonly #draw: Draw;
  readonly #log = new TruthLog();
  readonly #record = new GameRecord();
  readonly #operator: Operator;
  readonly #names;
  readonly #follower: WatermarkReader;
  /** The mirror as it was: history must be able to tell it later. */
  readonly #snapshots: Snapshot[] = [];
  #quiet = false;

  constructor(db: pg.Pool, game: Game, source: Source, user: string) {
    this.#db = db;
    this.#game = game;
    this.#source = source;
    this.#user = user;
    this.#draw = new Draw(game.seed ^ 0x2545f491);
    this.#operator = new Operator(source, this.#log, this.#draw, (line) => this.#record.tell(line));
    this.#names = listNames(game.collections);
    this.#follower = new WatermarkReader(db, user, this.#names, game.history);
  }

  async play(database: Table['database'], key: string): Promise<GameResult> {
    const { gracePeriodMs, deletes, history, collections, refusals, busy, seed } = this.#game;
    for (const collection of this.#names) {
      if (collection !== 'list_items') this.#operator.watch({ collection, list: '' });
    }
    const account = await openMirrorAccount({
      database,
      source: this.#source,
      key,
      userId: this.#user,
      settings: {
        gracePeriodMs,
        deletes,
        history: history ? { kept: true, forMs: undefined } : { kept: false },
      },
      tell: (line) => this.#record.tell(line),
      observer: {
        walkEnded: ({ kind, outcome, pages, error }) => {
          this.#record.count('walks');
          this.#record.count('pages', pages);
          this.#record.tell(`walk ended: ${kind} ${outcome}, ${pages} pages ${error ?? ''}`);
        },
      },
    });
    if (refusals !== undefined) await beginRefusals(this.#db, this.#user, refusals);
    this.#source.change({ ...this.#game.faults, staleMs: this.#game.lagMs });
    account.onRequest = (path) => {
      this.#record.tell(`request ${path}`);
      while (this.#draw.chance(busy / 2)) this.#operator.act();
      // Into the request, or while its page is written.
      if (this.#draw.chance(busy)) setTimeout(() => this.#act(), this.#draw.random() * 6);
    };
    try {
      for (let round = 0; round < this.#game.rounds; round += 1) await this.#round(account, round);
      account.onRequest = (path) => this.#record.tell(`request ${path}`);
      await this.#endWell(account);
      await this.#check(account);
      if (this.#record.findings.length === 0) await removeAccount(this.#db, this.#user);
    } catch (error) {
      this.#record.find('claim', `the game broke off: ${(error as Error).stack ?? messageOf(error)}`);
    } finally {
      this.#quiet = true;
      await account.close();
    }
    const { byFault } = this.#source.state.requests.counters();
    const own = { operations: this.#operator.count, requests: account.requests };
    const { findings, trace, counts } = this.#record;
    const what = `${describeGame(this.#game)}; user ${this.#user}, ${collections.length} collections`;
    return { seed, what, findings, counts: { ...counts, ...own, ...byFault }, trace };
  }

  #act(): void {
    if (!this.#quiet) this.#operator.act();
  }

  /** Reads while the source changes, in one of the ways in which the daemon and its commands do. */
  async #round(account: MirrorAccount, round: number): Promise<void> {
    const how = round === 0 ? 'full' : this.#draw.weighted({ full: 4, polls: 4, both: 2, stop: 1.5, takeover: 0.7 });
    this.#record.tell(`round ${round}: ${how}`);
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
      this.#record.count(how);
    }
    for (let more = this.#draw.integer(0, 3); more > 0; more -= 1) this.#operator.act();
    if (this.#game.history && round > 0) this.#snapshots.push(await takeSnapshot(this.#db, this.#names, this.#user));
    if (!this.#game.lies) await this.#checkFreshness();
    if (this.#draw.chance(0.5)) await this.#follower.follow();
    if (this.#draw.chance(0.3)) {
      for (const name of this.#names) {
        await account.current.reader
          .confirmDeletions(name, new AbortController().signal)
          .catch((error: unknown) => this.#record.tell(messageOf(error)));
      }
    }
    if (this.#draw.chance(0.4)) await systemClock.sleep(this.#game.gracePeriodMs * this.#draw.random() * 1.5);
    if (this.#game.collections.length > 1 && this.#draw.chance(0.2)) await account.reopen();
  }

  #pass(account: MirrorAccount, what: 'full' | 'current', more: PassOptions = {}): Promise<string[]> {
    return pass(account, this.#names, this.#record, what, more);
  }

  /** Games of other accounts may lock the tables again and again: the daemon tries as often as it has time. */
  async #columnsMade(account: MirrorAccount): Promise<void> {
    const missing = 'select from mirror.columns where column_name is null and collection = any($1)';
    for (let tries = 0; tries < COLUMN_TRIES; tries += 1) {
      if ((await this.#db.query(missing, [this.#names])).rowCount === 0) return;
      this.#record.count('tries to make columns');
      await fillColumns(account);
    }
  }

  /** Readings while Postgres refuses rows: each item is mirrored, or in quarantine. Then it refuses none. */
  async #readRefused(account: MirrorAccount): Promise<void> {
    let errors: string[] = [];
    for (let reading = 1; reading <= READINGS; reading += 1) {
      errors = await this.#pass(account, 'full', { accept: true });
      await this.#columnsMade(account);
    }
    const checked = await checkRefusals(this.#db, this.#source, this.#user, this.#names, errors);
    this.#record.count('items refused', checked.refused);
    this.#record.found(checked.findings);
    await endRefusals(this.#db, this.#user);
  }

  /** No more operations and no more faults; then the mirror has to become equal to the source. */
  async #endWell(account: MirrorAccount): Promise<void> {
    // Before 'quiet': what was set off during the last requests still comes.
    await systemClock.sleep(10);
    this.#quiet = true;
    this.#source.change(faultsOff(this.#game));
    const { gracePeriodMs, lagMs, refusals } = this.#game;
    await systemClock.sleep(gracePeriodMs + lagMs + 5);
    this.#source.state.data.freeze();
    this.#record.tell('quiet');
    await ping(account, this.#record);
    if (refusals !== undefined) await this.#readRefused(account);
    let found: string[] = [];
    for (let reading = 1; reading <= READINGS; reading += 1) {
      let errors = await this.#pass(account, 'full');
      if ((await openDeletions(this.#db, this.#user)).held > 0) {
        this.#record.count('brake held');
        errors = await this.#pass(account, 'full', { accept: true });
      }
      await this.#columnsMade(account);
      const { waiting } = await openDeletions(this.#db, this.#user);
      if (waiting > 0) this.#record.count('full readings after which rows wait for a second proof');
      if (errors.length > 0) this.#record.count('full readings in quiet that ended with an error');
      const sandbox = { control: this.#source.control, userId: Number(this.#user) };
      found = await differences({ sandbox, db: this.#db });
      this.#record.tell(`reading ${reading}: ${errors.join('; ')} ${found.slice(0, 3).join('; ')}`);
      if (found.length === 0) {
        this.#record.count(`equal after ${reading}`);
        for (const error of errors) this.#record.find('claim', `reading ${reading}: ${error}`);
        return;
      }
      await systemClock.sleep(gracePeriodMs + 5);
    }
    for (const text of found.slice(0, 5)) this.#record.find('lost', `after ${READINGS} readings: ${text}`);
  }

  async #checkFreshness(): Promise<void> {
    const { lagMs, switches } = this.#game;
    const moving = switches.order === 'last-updated' || switches.order === 'score';
    const given = { log: this.#log, lagMs, moving };
    const found = await checkFreshness(this.#db, this.#names, this.#user, given);
    for (const { text } of found) this.#record.tell(text);
    this.#record.found(found);
  }

  /** Every check of a game that has come to its end. */
  async #check(account: MirrorAccount): Promise<void> {
    const { lagMs, gracePeriodMs, history, switches, deletes } = this.#game;
    const { findings, deletions, beyondP2, toldEmpty } = await checkDeletions(this.#db, this.#names, this.#user, {
      log: this.#log,
      answers: account.answers,
      lagMs,
      slackMs: 0,
      gracePeriodMs,
      history,
      byPairs: switches.order !== 'falling' && switches.order !== 'rising',
    });
    this.#record.found(findings);
    this.#record.count('deletions', deletions);
    this.#record.count('beyond P2', beyondP2);
    if (toldEmpty > 0) this.#record.count('told empty', toldEmpty);
    if (history) {
      const { findings: twice, versions } = await checkVersions(this.#db, this.#names, this.#user);
      this.#record.found(twice);
      this.#record.found(await checkReplay(this.#db, this.#names, this.#user, this.#snapshots));
      this.#record.count('versions', versions);
      this.#record.count('moments replayed', this.#snapshots.length);
    }
    if (history || deletes === 'soft') this.#record.found(await this.#follower.check());
    // Nothing happens in the source any more: what it answers is true, then, in every game.
    await this.#checkFreshness();
  }
}

/** Removes everything of an account: what was played and found right needs no room. */
async function removeAccount(db: pg.Pool, user: string): Promise<void> {
  const { rows } = await db.query<{ name: string }>(`
    select format('%I.%I', c.table_schema, c.table_name) as name from information_schema.columns as c
    join information_schema.tables as t using (table_schema, table_name)
    where c.table_schema in ('mirror', 'mirror_sync') and c.column_name = '_user_id' and t.table_type = 'BASE TABLE'`);
  await db.query(rows.map(({ name }) => `delete from ${name} where _user_id = ${Number(user)}`).join('; '));
}
